import { randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { expect, test } from 'vitest'
import { databaseTime } from '../../server/db/clock.ts'
import { removeContents } from '../../server/db/contents.ts'
import { sql } from '../../server/db/drizzle.ts'
import { dropExpired } from '../../server/db/drop-expired.ts'
import { firstIdAt, newId } from '../../server/db/ids.ts'
import { attempts, dispatches, HISTORY, hourlyStats, messages } from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { waitForDayOf } from '../harness/periods.ts'
import { testDatabase } from '../harness/postgres.ts'
import { letRun } from '../harness/waits.ts'

const DAY_MS = 86_400_000

await waitForDayOf(60_000)
const database = await testDatabase()
const todayMs = Math.floor((await databaseTime(database.db)) / DAY_MS) * DAY_MS

const nameOf = (table: string, day: number) =>
  `${table}_${new Date(todayMs + day * DAY_MS).toISOString().slice(0, 10).replaceAll('-', '')}`

async function makeDay(day: number): Promise<void> {
  const startMs = todayMs + day * DAY_MS
  for (const table of Object.keys(HISTORY)) {
    const bounds = `from ('${firstIdAt(startMs)}') to ('${firstIdAt(startMs + DAY_MS)}')`
    await run(database.db, `create table ${nameOf(table, day)} partition of ${table} for values ${bounds}`)
  }
}

/** Inserts a dispatch and an attempt of that time. */
async function addRows(atMs: number): Promise<void> {
  const id = newId(atMs)
  const now = sql`now()`
  const ids = { id, eventId: id, messageId: id, accountId: id, endpointId: id }
  await database.db
    .insert(dispatches)
    .values({ ...ids, kind: 'original', state: 'exhausted', createdAt: now, endedAt: now })
  const attempt = { dispatchId: id, accountId: id, number: 1, startedAt: now, outcome: 'unknown' } as const
  await database.db.insert(attempts).values(attempt)
}

const PARTITIONS = `
  select relname as name from pg_class
  where relkind = 'r' and relname ~ '_[0-9]{8}$' and relnamespace = 'public'::regnamespace`

async function tables(): Promise<string[]> {
  const rows = await run<{ name: string }>(database.db, PARTITIONS)
  return rows.map(({ name }) => name)
}

const all = (day: number) => Object.keys(HISTORY).map((table) => nameOf(table, day))

test("days that ended more than 90 days ago by the database's clock are dropped with all their rows, and no others", async () => {
  for (const day of [-92, -91, -90, -89]) {
    await makeDay(day)
    await addRows(todayMs + day * DAY_MS + 1_000)
  }
  const before = await tables()
  const dropped = await dropExpired(database.url)
  expect(dropped).toEqual(
    [...all(-92), ...all(-91)].toSorted((a, b) => a.slice(-8).localeCompare(b.slice(-8)) || a.localeCompare(b)),
  )
  expect((await tables()).toSorted()).toEqual(before.filter((name) => !dropped.includes(name)).toSorted())
  const left = { dispatches: await database.db.$count(dispatches), attempts: await database.db.$count(attempts) }
  expect(left).toEqual({ dispatches: 2, attempts: 2 })
  expect(await dropExpired(database.url)).toEqual([])
})

test('sends go on while days are dropped: no insert waits longer than usual', async () => {
  await makeDay(-100)
  await makeDay(-101)
  const undisturbed = await insertsDuring(() => letRun(2_000))
  const dropping = await insertsDuring(() => dropExpired(database.url))
  expect(dropping.result).toHaveLength(2 * Object.keys(HISTORY).length)
  expect(dropping.waits.length).toBeGreaterThan(10)
  // A second of waiting for a lock, beside a busy machine's own slowness.
  expect(Math.max(...dropping.waits)).toBeLessThan(1_000 + 3 * Math.max(...undisturbed.waits))
})

test('what a crash left half done is finished: a pending detach, and a day without its parent', async () => {
  await makeDay(-110)
  await makeDay(-111)
  const [pending, orphan] = [nameOf('events', -110), nameOf('events', -111)]
  await run(database.db, `alter table events detach partition ${orphan}`)
  // A reader that saw the day as part of its table holds up the second half of the detach.
  const reader = postgres(database.url, { max: 1 })
  await reader`begin`
  await reader`select count(*) from events`
  const crashing = postgres(database.url, { max: 1 })
  await crashing`set statement_timeout = 300`
  await expect(crashing.unsafe(`alter table events detach partition ${pending} concurrently`)).rejects.toThrow()
  await crashing.end()
  const failing = await dropExpired(database.url).then(
    () => undefined,
    (error) => error,
  )
  await reader`rollback`
  await reader.end()
  expect(failing).toMatchObject({ code: '55P03' })
  const dropped = await dropExpired(database.url)
  expect(dropped).toContain(pending)
  expect((await tables()).filter((name) => [...all(-110), ...all(-111)].includes(name))).toEqual([])
})

test('statistics are deleted after 400 days, and not before', async () => {
  const { db } = database
  for (const days of [0, 90, 399, 401, 4000]) {
    const hour = sql`date_trunc('hour', now(), 'UTC') - ${days} * interval '1 day'`
    await db.insert(hourlyStats).values({ accountId: randomUUID(), tenantId: '', hour, domain: 'example.test' })
  }
  await dropExpired(database.url)
  const days = sql<number>`extract(day from now() - ${hourlyStats.hour})::int`
  const left = await db.select({ days }).from(hourlyStats).orderBy(days)
  expect(left.map(({ days }) => days)).toEqual([0, 90, 399])
})

/** Measures how long each insert takes while four callers insert continuously, until `work` ends. */
async function insertsDuring<T>(work: () => Promise<T>): Promise<{ result: T; waits: number[] }> {
  const waits: number[] = []
  let hasEnded = false
  const inserts = Array.from({ length: 4 }, async () => {
    while (!hasEnded) {
      const startedMs = performance.now()
      await addRows(Date.now())
      waits.push(performance.now() - startedMs)
    }
  })
  const result = await work().finally(() => {
    hasEnded = true
  })
  await Promise.all(inserts)
  return { result, waits }
}

test('contents are removed from days that are older than their retention, once, and nothing else is', async () => {
  const { db } = database
  const addMessage = async (day: number) => {
    if (!(await tables()).includes(nameOf('messages', day))) await makeDay(day)
    const id = newId(todayMs + day * DAY_MS + 1_000)
    const at = new Date()
    const texts = { subject: 'Hi', html: '<p>Hi</p>', text: 'Hi' }
    const request = { from: 'a@example.test', to: ['b@example.test'], headers: [], attachments: [], ...texts }
    const row = { id, accountId: id, status: 'delivered' as const, sandbox: false, region: 'eu', sizeBytes: 1, request }
    await db.insert(messages).values({ ...row, createdAt: at, completedAt: at })
    return id
  }
  const [old, edge] = [await addMessage(-12), await addMessage(-10)]
  expect(await removeContents(database.url, 90)).toEqual([])
  expect(await removeContents(database.url, 10)).toContain(nameOf('messages', -12))
  const requests = await db.select({ id: messages.id, request: messages.request }).from(messages)
  const requestOf = (wanted: string) => requests.find(({ id }) => id === wanted)!.request
  expect(requestOf(old)).toEqual({
    from: 'a@example.test',
    to: ['b@example.test'],
    subject: 'Hi',
    headers: [],
    attachments: [],
  })
  expect(requestOf(edge)).toMatchObject({ html: '<p>Hi</p>', text: 'Hi' })
  expect(await removeContents(database.url, 10)).toEqual([])
})
