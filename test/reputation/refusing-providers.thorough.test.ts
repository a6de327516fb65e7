import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { beforeEach, expect, test } from 'vitest'
import { providerMinutes, refusingProviders } from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { addUpOpen } from '../../server/reputation/open-statistics.ts'
import { findRefusingProviders, readRefusingProviders } from '../../server/reputation/refusing-providers.ts'
import { script, startSendingWorld } from '../sending/world.ts'

// A provider refuses an account when it blocked half or more of at least 20 emails within an hour by policy.

const world = await startSendingWorld()
beforeEach(async () => {
  script(world, {})
  await run(world.db, 'truncate refusing_providers, provider_minutes, open_stats, breakers, hourly_stats')
})

const OURS = ['192.0.2.25', '2001:db8::25', 'mail.operator.example']
const accountId = () => world.account.id
const refusing = (of = accountId()) => readRefusingProviders(world.db, { accountId: of, nowMs: Date.now(), ours: OURS })
const refusingNames = async (of?: string) => (await refusing(of)).map(({ provider }) => provider)

async function block(emails: number, rcpt: string) {
  script(world, { rcpt })
  for (let sent = 0; sent < emails; sent += 10) {
    const to = Array.from({ length: Math.min(10, emails - sent) }, () => `${randomUUID()}@example.net`)
    await world.send({ to })
    await run(world.db, 'truncate breakers, hourly_stats')
  }
  script(world, {})
  await addUpOpen(world.db)
}

test('a provider refuses from 20 emails in an hour on, half or more of them blocked, and until fewer are', async () => {
  const counted = fc.record({
    provider: fc.constantFrom('google', 'example.net'),
    minutesAgo: fc.constantFrom(0, 30, 59, 61, 90),
    outcomes: fc.integer({ min: 1, max: 30 }),
    share: fc.constantFrom(0, 0.4, 0.5, 0.6, 1),
  })
  const looks = fc.array(fc.array(counted, { maxLength: 4 }), { minLength: 1, maxLength: 4 })
  const property = fc.asyncProperty(looks, async (looks) => {
    await run(world.db, 'truncate refusing_providers, provider_minutes')
    const hour = new Map<string, { outcomes: number; blocked: number }>()
    const expected = new Set<string>()
    for (const rows of looks) {
      for (const { provider, minutesAgo, outcomes, share } of rows) {
        const policyBlocks = Math.floor(outcomes * share)
        const minute = new Date(Date.now() - minutesAgo * 60_000)
        await world.db
          .insert(providerMinutes)
          .values({ accountId: accountId(), provider, minute, outcomes, policyBlocks })
        // What is no account's: the simulator and the mails of the house.
        await world.db.insert(providerMinutes).values({ accountId: NOBODY, provider, minute, outcomes, policyBlocks })
        if (minutesAgo >= 60) continue
        const { outcomes: all = 0, blocked = 0 } = hour.get(provider) ?? {}
        hour.set(provider, { outcomes: all + outcomes, blocked: blocked + policyBlocks })
      }
      for (const [provider, { outcomes, blocked }] of hour) {
        const isHalf = blocked > 0 && blocked * 2 >= outcomes
        if (isHalf && outcomes >= 20) expected.add(provider)
        if (!isHalf) expected.delete(provider)
      }
      await Promise.all([findRefusingProviders(world.db), findRefusingProviders(world.db)])
      await findRefusingProviders(world.db)
      expect(new Set(await refusingNames())).toEqual(expected)
      expect(await world.db.$count(refusingProviders)).toBeGreaterThanOrEqual(expected.size)
      expect(await refusingNames(NOBODY)).toEqual([])
    }
  })
  await fc.assert(property, { numRuns: 40 })
})

const NOBODY = randomUUID()

test('the newest reply is shown, and which of our names it has', async () => {
  const cases: [reply: string, names: string][] = [
    ['550 5.7.1 messages from [192.0.2.25] were not sent: part of their network is on our block list', '192.0.2.25'],
    ['550 5.7.1 [2001:db8::25]. Our system has detected', '2001:db8::25'],
    ['550 5.7.1 Mail.Operator.Example: too many complaints about example.test', 'mail.operator.example'],
    ['550 5.7.1 the domain example.test. is not welcome here', 'example.test'],
    ['550 5.7.1 mail from 192.0.2.250 and my-example.test is not welcome', ''],
    ['550 5.7.1 blocked by policy', ''],
  ]
  await block(20, '550 5.7.1 an older reply')
  await findRefusingProviders(world.db)
  for (const [reply, names] of cases) {
    await block(1, reply)
    const [refusal] = await refusing()
    expect(refusal).toMatchObject({ provider: 'example.net', newest: { names, messageId: expect.any(String) } })
    expect(refusal!.newest!.reply).toContain(reply.slice('550 5.7.1 '.length, 30))
  }
  expect(await refusing()).toMatchObject([{ emails: 26, blocked: 26 }])
})

test('what is not the policy of a provider is no refusal', async () => {
  await block(20, '550 5.1.1 no such user')
  await block(20, '552 5.2.2 mailbox full')
  await findRefusingProviders(world.db)
  expect(await refusing()).toEqual([])
})
