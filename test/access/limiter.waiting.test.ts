import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, expect, test, vi } from 'vitest'
import { createLimiter, type RequestCount } from '../../server/access/limiter.ts'
import { connect } from '../../server/db/connect.ts'
import { eq, sql } from '../../server/db/drizzle.ts'
import { rateWindows } from '../../server/db/schema.ts'
import { reasonOf } from '../../server/errors.ts'
import { testDatabase } from '../harness/postgres.ts'
import { stopwatch } from '../harness/stopwatch.ts'

const database = await testDatabase()
const db = database.db
/** The connections of another process. */
const otherDb = connect(database.url)
afterEach(() => vi.useRealTimers())
afterAll(() => otherDb.$client.end())

const many = (requests: number, count: (i: number) => Promise<RequestCount>) =>
  Promise.all(Array.from({ length: requests }, (_, i) => count(i)))

const moveStart = (caller: string, to: ReturnType<typeof sql>) =>
  db.update(rateWindows).set({ startedAt: to }).where(eq(rateWindows.caller, caller))

test('two processes admit exactly as many concurrent requests as the limit says', async () => {
  const limiters = [createLimiter(db), createLimiter(otherDb)]
  const account = randomUUID()
  const counted = await many(1_000, (i) => limiters[i % 2]!(account, 300))
  const admitted = counted.filter(({ admitted }) => admitted)
  expect(admitted).toHaveLength(300)
  // Each request has its own place in the window.
  expect(admitted.map(({ remaining }) => remaining).sort((a, b) => b - a)).toEqual(
    Array.from({ length: 300 }, (_, i) => 299 - i),
  )
  expect(counted.every(({ remaining, admitted }) => admitted || remaining === 0)).toBe(true)
})

test('places of a large limit are taken ahead, and still no more requests are admitted than it says', async () => {
  const limiters = [createLimiter(db), createLimiter(otherDb)]
  const account = randomUUID()
  const limit = 30_000
  const results = await Promise.all(
    limiters.map(async (count) => {
      let admitted = 0
      for (let i = 0; i < 200; i++) {
        for (const counted of await many(100, () => count(account, limit))) if (counted.admitted) admitted++
      }
      return admitted
    }),
  )
  const admitted = results[0]! + results[1]!
  expect(admitted).toBeLessThanOrEqual(limit)
  // One process may still keep places ahead when the other has used up the rest.
  expect(admitted).toBeGreaterThan(limit - 6)
})

test('with a very large limit, a hundred requests in a row cost one statement', async () => {
  const count = createLimiter(db)
  const account = randomUUID()
  const remaining = []
  for (let i = 0; i < 100; i++) remaining.push((await count(account, 1_000_000)).remaining)
  expect(remaining).toEqual(Array.from({ length: 100 }, (_, i) => 999_999 - i))
  const [row] = await db.select({ used: rateWindows.used }).from(rateWindows).where(eq(rateWindows.caller, account))
  expect(row).toEqual({ used: 100 })
})

test('accounts are counted separately, also when they share a statement', async () => {
  const count = createLimiter(db)
  const accounts = Array.from({ length: 20 }, () => randomUUID())
  const counted = await many(200, (i) => count(accounts[i % 20]!, 7))
  expect(counted.filter(({ admitted }) => admitted)).toHaveLength(20 * 7)
})

test('a window lasts 60 s by the clock of the database, from its first request on', async () => {
  const count = createLimiter(db)
  const account = randomUUID()
  const first = await count(account, 2)
  const ends = sql<number>`ceil(extract(epoch from ${rateWindows.startedAt} + interval '60 s'))::int`
  const now = sql<number>`extract(epoch from now())::float8`
  const [row] = await db.select({ ends, now }).from(rateWindows).where(eq(rateWindows.caller, account))
  expect(first).toEqual({ admitted: true, limit: 2, remaining: 1, resetAt: row!.ends, secondsLeft: 60 })
  expect(row!.ends - row!.now).toBeGreaterThan(59)

  await moveStart(account, sql`clock_timestamp() - interval '57.05 s'`)
  expect(await count(account, 2)).toMatchObject({ admitted: true, remaining: 0, secondsLeft: 3 })
  expect(await count(account, 2)).toMatchObject({ admitted: false, remaining: 0, secondsLeft: 3 })
  await moveStart(account, sql`clock_timestamp() - interval '60.01 s'`)
  expect(await count(account, 2)).toMatchObject({ admitted: true, remaining: 1, secondsLeft: 60 })
})

test('setting back the clock of the database by hours locks no account out', async () => {
  const count = createLimiter(db)
  const account = randomUUID()
  await count(account, 1)
  expect(await count(account, 1)).toMatchObject({ admitted: false })
  await moveStart(account, sql`clock_timestamp() + interval '2 h'`)
  expect(await count(account, 1)).toMatchObject({ admitted: true, secondsLeft: 60 })
  expect(await count(account, 1)).toMatchObject({ admitted: false, secondsLeft: 60 })
})

test.each([2, -2])(
  'a node whose clock jumps by %s hours neither admits more requests nor locks an account out',
  async (hours) => {
    const count = createLimiter(db)
    const other = createLimiter(otherDb)
    const account = randomUUID()
    const before = await count(account, 3)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + hours * 3_600_000 })
    const jumped = await count(account, 3)
    expect(jumped).toMatchObject({ admitted: true, remaining: 1, resetAt: before.resetAt })
    vi.useRealTimers()
    expect(await other(account, 3)).toMatchObject({ admitted: true, remaining: 0, resetAt: before.resetAt })
    expect(await count(account, 3)).toMatchObject({ admitted: false, resetAt: before.resetAt })
  },
)

test('a lowered limit takes effect at once', async () => {
  const count = createLimiter(db)
  const account = randomUUID()
  for (let i = 0; i < 10; i++) await count(account, 1_000_000)
  expect(await count(account, 60)).toMatchObject({ admitted: true, limit: 60, remaining: 49 })
  expect(await count(account, 5)).toMatchObject({ admitted: false, limit: 5, remaining: 0 })
})

test('a request that cannot be counted is refused as transient_failure within 5 s, and none is admitted uncounted', async () => {
  const count = createLimiter(db)
  const account = randomUUID()
  // The driver reserves only a connection that is open.
  await otherDb.$client`select 1`
  const lock = await otherDb.$client.reserve()
  await lock`begin`
  await lock`lock table rate_windows in access exclusive mode`
  const watch = stopwatch()
  const errors = await Promise.all([1, 2].map(() => count(account, 5).catch((error) => error)))
  expect(errors.map(reasonOf)).toEqual(['transient_failure', 'transient_failure'])
  // The promised time, and half a second for the two refusals.
  expect(watch.ms()).toBeLessThan(5_500)
  await lock`rollback`
  lock.release()
  await expect.poll(async () => (await count(account, 5)).admitted).toBe(true)
})
