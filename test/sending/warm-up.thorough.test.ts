import { beforeEach, expect, test } from 'vitest'
import { DEFAULT_LIMITS } from '../../server/config/limits.ts'
import { sql } from '../../server/db/drizzle.ts'
import { newId } from '../../server/db/ids.ts'
import { idempotencyKeys, openMessages, warmUps } from '../../server/db/schema.ts'
import { reasonOf } from '../../server/errors.ts'
import { sweep } from '../../server/ledger/sweep.ts'
import { createDailyVolume, warmUpDay } from '../../server/reputation/warm-up.ts'
import { resultOf, retryAfterOf, testLimit, todayIn, untilLocked } from './volume.ts'
import { message, startSendingWorld } from './world.ts'

const world = await startSendingWorld({ 'MX gone.org': 'nxdomain' })
beforeEach(async () => {
  await world.db.delete(warmUps)
})

const { options } = world
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

testLimit('warm-up', {
  world,
  most: 500,
  parts: {},
  elsewhere: (db) => ({ dailyVolume: createDailyVolume(db) }),
  blind: { dailyVolume: async () => 0 },
  used,
  sent: sentToday,
  claiming: (copies) => ({ warmUp: { day: today(), dailyLimit: 500, copies } }),
  over: 'over_warm_up',
  crashed: () => ({ warmUpDay: today(), warmUpEmails: 7 }),
})

test('warm-up: the simulator needs none, also when more than the day allows is sent', async () => {
  await used(505)
  const simulated = message({ to: ['delivered@simulator.test'] })
  expect(await resultOf(world.sendAlone()(simulated, options()))).toBe('delivered')
  expect(await sentToday()).toBe(505)
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
