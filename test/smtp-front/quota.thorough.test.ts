import { expect, test } from 'vitest'
import { DEFAULT_LIMITS } from '../../server/config/limits.ts'
import { monthlyEmails } from '../../server/db/schema.ts'
import { monthOf } from '../../server/reputation/quota.ts'
import { letter, startFrontWorld } from './world.ts'

const EMAILS = 100

const LIMITS = {
  ...DEFAULT_LIMITS,
  tiers: { ...DEFAULT_LIMITS.tiers, small: { requestsPerMinute: 600, emailsPerMonth: EMAILS } },
  defaultTier: 'small',
}

const { api, send } = await startFrontWorld({ maxRecipients: 100 }, LIMITS)
const { db, clock, account, exchanger } = api.world

async function used(emails: number): Promise<void> {
  const { month } = monthOf(clock.now())
  await db
    .insert(monthlyEmails)
    .values({ accountId: account.id, month, emails })
    .onConflictDoUpdate({ target: [monthlyEmails.accountId, monthlyEmails.month], set: { emails } })
}

test('over the quota a program that sends by SMTP gets 452 with its words, and a repeat later is sent', async () => {
  await used(EMAILS - 1)
  const mail = { to: ['ann@example.net', 'bob@example.net'], content: letter() }
  expect(await send(mail)).toMatch(/^452 4\.7\.1 .*quota of this account is 100 emails a month/)
  expect(exchanger.messages).toEqual([])
  await used(EMAILS - 2)
  expect(await send(mail)).toMatch(/^250 /)
  expect((await db.select().from(monthlyEmails))[0]?.emails).toBe(EMAILS)
})

test('when one of the two messages of a DATA is over the quota, the reply is 451, and a repeat sends it alone', async () => {
  const all = Array.from({ length: 60 }, (_, i) => `u${i}@example.net`)
  await used(EMAILS - 55)
  const mail = { to: all, content: letter() }
  const reply = await send(mail)
  expect(reply).toMatch(
    /^451-4\.7\.1 msg_\w+: delivered to (?:50|10) of 60 recipients, not to:\r\n.*: 452 4\.7\.1 The quota/,
  )
  await used(0)
  expect(await send(mail)).toMatch(/^250 2\.0\.0 msg_\w+, msg_\w+: /)
  expect(exchanger.messages.flatMap(({ to }) => to).toSorted()).toEqual(all.toSorted())
})

test('over the quota each message of a batch has its own 429', async () => {
  await used(EMAILS - 2)
  const item = { from: 'hello@example.test', to: 'ann@example.net', subject: 'Hello', text: 'Hi' }
  const { json } = await api.call('POST', '/api/v1/emails/batch', { body: { emails: Array(5).fill(item) } })
  expect(json.summary).toEqual({ total: 5, delivered: 2, bounced: 0, rejected: 0, failed: 3 })
  const failed = json.results.filter((result: { error?: string }) => result.error)
  for (const result of failed) {
    expect(result).toMatchObject({
      error: 'rate_limit_exceeded',
      message: expect.stringContaining('100 emails a month'),
    })
    expect(result.retry_after).toBeGreaterThan(0)
  }
})
