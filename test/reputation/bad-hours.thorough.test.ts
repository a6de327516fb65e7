import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { beforeEach, expect, test } from 'vitest'
import { DEFAULT_LIMITS } from '../../server/config/limits.ts'
import { asc, eq, sql } from '../../server/db/drizzle.ts'
import { breakers, providerMinutes, refusals, suppressions } from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { keepBadHours } from '../../server/reputation/bad-hours.ts'
import { createBreaker } from '../../server/reputation/breaker.ts'
import { addUpOpen } from '../../server/reputation/open-statistics.ts'
import { script, startSendingWorld } from '../sending/world.ts'

// A provider that refuses addresses as unknown that took mail before is having a bad hour.

const PROVIDER = 'example.net'
const world = await startSendingWorld()
beforeEach(async () => {
  script(world, {})
  await run(
    world.db,
    'truncate suppressions, refusals, bad_hours, provider_minutes, open_stats, hourly_stats, breakers, feedback',
  )
})

const send = (to: string[]) => world.send({ to })
const look = () => keepBadHours(world.db, DEFAULT_LIMITS.breaker)
const addresses = (count: number) => Array.from({ length: count }, () => `${randomUUID()}@example.net`)
const refuse = async (to: string[], rcpt = '550 5.1.1 no such user') => {
  script(world, { rcpt })
  await send(to)
  script(world, {})
}

async function entries() {
  const { email, expiresAt } = suppressions
  const days = sql<number | null>`round(extract(epoch from ${expiresAt} - ${suppressions.createdAt}) / 86400)::int`
  return world.db.select({ email, days }).from(suppressions).orderBy(asc(email))
}
const lasting = (all: readonly string[], days: number | null) => all.toSorted().map((email) => ({ email, days }))
/** What was refused, and the entries of it, were so this long ago. */
const hoursPass = async (hours: number) => {
  for (const table of ['refusals', 'suppressions'])
    await run(world.db, `update ${table} set created_at = created_at - ${hours} * interval '1 hour'`)
}

test('a bad hour shortens entries to seven days, counts as no incident and for no breaker, and ends', async () => {
  const living = addresses(6)
  await send([...living, ...addresses(40)])
  const strangers = addresses(3)
  await refuse([...living, ...strangers])
  const before = [...lasting(strangers, null), ...lasting(living, 7)]
  expect(await entries()).toEqual(before.toSorted((a, b) => (a.email < b.email ? -1 : 1)))
  // Some outcomes are added up, others are not yet.
  await addUpOpen(world.db)
  await send(addresses(2))
  await world.db.insert(breakers).values({
    ...{ accountId: world.account.id, domain: 'example.test', state: 'open', cause: 'bounces' },
    ...{ changedAt: new Date(), baseEmails: 0, baseBounces: 0, baseComplaints: 0 },
  } as typeof breakers.$inferInsert)

  expect(await look()).toEqual([{ provider: PROVIDER, isBegin: true }])
  expect(await entries()).toEqual(lasting([...living, ...strangers], 7))
  expect(await world.db.$count(refusals, eq(refusals.inBadHour, true))).toBe(9)
  const breaker = createBreaker({ db: world.db, limits: DEFAULT_LIMITS })
  const rates = (await breaker.rates(world.account.id, ['example.test'])).get('example.test')
  expect(rates).toMatchObject({ sending: 'active', bounces: 0 })

  const late = addresses(1)
  await refuse(late)
  expect(await entries()).toEqual(lasting([...living, ...strangers, ...late], 7))
  expect(await look()).toEqual([])
  expect(await world.db.$count(refusals, eq(refusals.inBadHour, true))).toBe(10)

  await hoursPass(2)
  expect(await look()).toEqual([{ provider: PROVIDER, isBegin: false }])
  // Doubtful refusals suppress at the second incident. That of the bad hour is none.
  await run(world.db, 'delete from suppressions')
  await hoursPass(30)
  await refuse(strangers.slice(0, 1), '550 5.2.1 disabled')
  expect(await entries()).toEqual([])
})

test('what a provider says of other kinds, and other providers, stay as they are in a bad hour', async () => {
  const living = addresses(6)
  await send([...living, ...addresses(44)])
  await refuse(living)
  const ofOthers = `${randomUUID()}@elsewhere.example`
  await world.db.insert(suppressions).values([
    { id: randomUUID(), accountId: world.account.id, tenantId: '', email: ofOthers, reason: 'bounce' },
    { id: randomUUID(), accountId: world.account.id, tenantId: '', email: 'by@hand.example', reason: 'manual' },
  ])
  expect(await look()).toEqual([{ provider: PROVIDER, isBegin: true }])
  const kept = await entries()
  expect(kept.filter(({ days }) => days === null).map(({ email }) => email)).toEqual(
    ['by@hand.example', ofOthers].sort(),
  )
  await refuse(addresses(1), '550 5.2.1 disabled')
  expect(await entries()).toEqual(kept)
})

test('a bad hour begins with five living addresses, fifty outcomes and more than a tenth of them, and not before', async () => {
  const counts = fc.record({
    living: fc.integer({ min: 0, max: 8 }),
    strangers: fc.integer({ min: 0, max: 8 }),
    delivered: fc.integer({ min: 0, max: 160 }),
    minutesAgo: fc.constantFrom(0, 59, 61, 120),
    repeats: fc.integer({ min: 1, max: 2 }),
  })
  const property = fc.asyncProperty(counts, async ({ living, strangers, delivered, minutesAgo, repeats }) => {
    await run(world.db, 'truncate refusals, bad_hours, provider_minutes')
    const refused = Array.from({ length: living + strangers }, (_, i) => i).flatMap((i) =>
      Array(i < living ? repeats : 1).fill(i),
    )
    const createdAt = new Date(Date.now() - minutesAgo * 60_000)
    const rows = refused.map((i) => ({
      ...{ eventId: randomUUID(), accountId: world.account.id, tenantId: '', email: `${i}@example.net` },
      ...{ kind: 'unknown' as const, provider: PROVIDER, proofOfLife: i < living, createdAt },
    }))
    if (rows.length > 0) await world.db.insert(refusals).values(rows)
    const outcomes = delivered + rows.length
    await world.db.insert(providerMinutes).values({
      ...{ accountId: world.account.id, provider: PROVIDER, minute: new Date(), outcomes, policyBlocks: 0 },
    })
    const isBad = minutesAgo < 60 && living >= 5 && outcomes >= 50 && rows.length > outcomes / 10
    expect(await look()).toEqual(isBad ? [{ provider: PROVIDER, isBegin: true }] : [])
    expect(await look()).toEqual([])
  })
  await fc.assert(property, { numRuns: 60 })
})
