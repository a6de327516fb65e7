import { afterAll, beforeEach, expect, test } from 'vitest'
import { DEFAULT_LIMITS } from '../../server/config/limits.ts'
import { connect } from '../../server/db/connect.ts'
import { sql } from '../../server/db/drizzle.ts'
import { newId } from '../../server/db/ids.ts'
import { idempotencyKeys, openMessages, warmUps } from '../../server/db/schema.ts'
import { reasonOf } from '../../server/errors.ts'
import { type Claim, createClaim } from '../../server/ledger/claim.ts'
import { sweep } from '../../server/ledger/sweep.ts'
import { createDailyVolume, warmUpDay } from '../../server/reputation/warm-up.ts'
import { newClaim } from '../harness/claim.ts'
import { addCrashedSends, optionsIn, resultOf, resultsOfMany, retryAfterOf, todayIn, untilLocked } from './volume.ts'
import { message, script, startSendingWorld } from './world.ts'

const world = await startSendingWorld({ 'MX gone.org': 'nxdomain' })
afterAll(() => world.stop())
beforeEach(async () => {
  await world.db.delete(warmUps)
})

const options = (more: { sandbox?: boolean } = {}) => optionsIn(world, more)
const REQUEST = { from: '', to: [], subject: '', headers: [], attachments: [] }
const today = () => todayIn(world)
const sentToday = async () => (await world.db.select().from(warmUps))[0]?.emails ?? 0
async function used(emails: number): Promise<void> {
  await world.db
    .insert(warmUps)
    .values({ accountId: world.account.id, domain: 'example.test', day: today(), emails })
    .onConflictDoUpdate({ target: [warmUps.accountId, warmUps.domain, warmUps.day], set: { emails } })
}

test('warm-up: 500, 1,000, 2,500, 5,000, 10,000 emails on the first to fifth UTC day from verification on, then none', () => {
  const verifiedAt = new Date('2026-01-31T23:59:59.999Z')
  const limitAt = (time: string, warmsUp = true) =>
    warmUpDay({ verifiedAt, warmsUp }, Date.parse(time), DEFAULT_LIMITS.warmUp)?.dailyLimit
  expect(limitAt('2026-01-31T23:59:59.999Z')).toBe(500)
  expect(['02-01', '02-02', '02-03', '02-04', '02-05'].map((day) => limitAt(`2026-${day}T00:00:00Z`))).toEqual([
    1_000,
    2_500,
    5_000,
    10_000,
    undefined,
  ])
  // A clock behind the verification is still the first day.
  expect(limitAt('2026-01-30T12:00:00Z')).toBe(500)
  expect(limitAt('2026-01-31T23:59:59.999Z', false)).toBeUndefined()
})

test('warm-up: the limit is exact with 1,000 sends over two nodes, 100 at a time', async () => {
  await used(490)
  const other = connect(world.database.url)
  const nodes = [world.sendAlone(), world.sendAlone({ db: other, dailyVolume: createDailyVolume(other) })]
  const words = await resultsOfMany((i) => nodes[i % 2]!(message({ to: [`ann${i}@example.net`] }), options()))
  await other.$client.end()
  expect(words.filter((word) => word === 'delivered')).toHaveLength(10)
  expect(words.filter((word) => word !== 'delivered')).toEqual(Array(990).fill('rate_limit_exceeded'))
  expect(await sentToday()).toBe(500)
})

test('warm-up: the claim alone is exact, whatever the check before it read', async () => {
  await used(490)
  const blind = world.sendAlone({ dailyVolume: async () => 0 })
  const words = await Promise.all(
    Array.from({ length: 200 }, (_, i) => resultOf(blind(message({ to: [`bob${i}@example.net`] }), options()))),
  )
  expect(words.filter((word) => word === 'delivered')).toHaveLength(10)
  expect(await sentToday()).toBe(500)
})

test('warm-up: a message that would exceed the limit is 429 as a whole, with retry_after until 00:00 UTC', async () => {
  await used(499)
  const send = world.sendAlone()
  const error = await send(message({ to: ['a@example.net', 'b@example.net'] }), options()).catch((error) => error)
  expect(reasonOf(error)).toBe('rate_limit_exceeded')
  expect(error.rawMessage).toContain('day 1')
  const midnight = 86_400 - ((world.clock.now() / 1_000) % 86_400)
  expect(Math.abs(retryAfterOf(error) - midnight)).toBeLessThan(3)
  expect(await resultOf(send(message({ to: ['a@example.net'] }), options()))).toBe('delivered')
  expect(await sentToday()).toBe(500)
})

/**
 * A claim of this number of emails out of 500 a day. Among claims of the same number, those with a larger `i` are
 * admitted later.
 */
function claimOf(emails: number, i: number, key?: string): Claim {
  return newClaim({
    accountId: world.account.id,
    leaseMs: 0,
    createdAtMs: world.clock.now() + i,
    to: Array.from({ length: emails }, () => 'ann@example.net'),
    warmUp: { day: today(), dailyLimit: 500, copies: emails },
    key: key === undefined ? undefined : { scope: 'send/live', key, requestHash: '00' },
  })
}

test('warm-up: of messages that are claimed together, one that does not fit keeps out none that fits', async () => {
  await used(494)
  const claim = createClaim(world.db)
  // The first is claimed alone, and those that wait for it are claimed together.
  expect(await Promise.all([1, 6, 1].map((emails, i) => claim(claimOf(emails, i))))).toEqual([
    'claimed',
    'over_warm_up',
    'claimed',
  ])
  expect(await sentToday()).toBe(496)
  await sweep(world.db)
})

test('warm-up: a message that loses its key to another takes no place from those that are claimed with it', async () => {
  await used(496)
  const claim = createClaim(world.db)
  expect(await claim(claimOf(1, 0, 'taken'))).toBe('claimed')
  // The first is claimed alone. Those that wait for it are claimed together: a key that is taken, two equal keys, and a
  // message without one.
  const together = [
    claimOf(1, 0),
    claimOf(1, 1, 'taken'),
    claimOf(1, 2, 'twice'),
    claimOf(1, 3, 'twice'),
    claimOf(1, 4),
  ]
  expect(await Promise.all(together.map(claim))).toEqual(['claimed', 'key_taken', 'claimed', 'key_taken', 'claimed'])
  expect(await claim(claimOf(1, 5))).toBe('over_warm_up')
  expect(await sentToday()).toBe(500)
  await sweep(world.db)
})

test('warm-up: sends that never reach SMTP, dry runs and the simulator do not count', async () => {
  const send = world.sendAlone()
  await send(message({ to: ['a@gone.org'] }), options())
  await send(message({ to: ['a@nowhere.example'] }), options())
  await send(message(), options({ sandbox: true }))
  await send(message({ to: ['delivered@simulator.test', 'mailbox_full@simulator.test'] }), options())
  expect(await sentToday()).toBe(0)
  await used(500)
  expect(await resultOf(send(message({ to: ['delivered@simulator.test'] }), options()))).toBe('delivered')
  expect(await resultOf(send(message(), options({ sandbox: true })))).toBe('rate_limit_exceeded')
})

test('warm-up: only the commit that deletes a claim returns its emails', async () => {
  const goesOn = Promise.withResolvers<void>()
  script(world, { data: { after: goesOn.promise, act: '354 go ahead' } })
  const leaving = new AbortController()
  const send = world.sendAlone()
  const [left, stayed] = [send(message(), { ...options(), signal: leaving.signal }), send(message(), options())]
  await expect.poll(sentToday, { interval: 10 }).toBe(2)
  leaving.abort(new Error('left'))
  expect(await resultOf(left)).toBe('transient_failure')
  expect(await sentToday()).toBe(1)
  goesOn.resolve()
  expect(await resultOf(stayed)).toBe('delivered')
  expect(await sentToday()).toBe(1)
})

test('warm-up: the sweeper returns the emails of crashed sends without a marker, and no others', async () => {
  await used(100)
  await addCrashedSends(world, { warmUpDay: today(), warmUpEmails: 7 })
  expect(await sweep(world.db)).toEqual({ settled: 1, released: 2 })
  expect(await sentToday()).toBe(86)
})

test('warm-up: a return locks its rows in the order of the claims, and before any key', async () => {
  const accountId = world.account.id
  const domains = Array.from({ length: 12 }, (_, i) => `d${String(i).padStart(2, '0')}.test`)
  for (const domain of domains.toReversed()) {
    const id = newId(Date.now())
    await world.db.insert(warmUps).values({ accountId, domain, day: today(), emails: 1 })
    const key = { accountId, scope: 'send/live', key: domain, messageId: id, requestHash: Buffer.of() }
    await world.db.insert(idempotencyKeys).values({ ...key, expiresAt: sql`now() + interval '1 hour'` })
    const lease = { claim: id, leaseUntil: sql`now() - interval '1 second'` }
    const message = { id, accountId, createdAt: sql`now()`, region: 'eu', domain, request: REQUEST }
    const taken = { keyScope: 'send/live', key: domain, warmUpDay: today(), warmUpEmails: 1 }
    await world.db.insert(openMessages).values({ ...message, ...lease, ...taken })
  }
  let swept: Promise<unknown> | undefined
  await world.db.$client.begin(async (claiming) => {
    await claiming`select from warm_ups where domain = ${domains[0]!} for update`
    swept = sweep(world.db)
    await untilLocked(world.db)
    expect(await claiming`select from warm_ups for update skip locked`).toHaveLength(12)
    expect(await claiming`select from idempotency_keys for update skip locked`).toHaveLength(12)
  })
  expect(await swept).toEqual({ settled: 0, released: 12 })
  expect(await world.db.$count(idempotencyKeys)).toBe(0)
})
