import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { dropExpired } from '../../server/db/drop-expired.ts'
import { firstIdAt, newId } from '../../server/db/ids.ts'
import { HISTORY } from '../../server/db/schema.ts'
import { type TestDatabase, testDatabase } from '../harness/postgres.ts'

const DAY_MS = 86_400_000

let database: TestDatabase
let todayMs: number
beforeAll(async () => {
  database = await testDatabase()
  const [row] = await database.db.$client`select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`
  todayMs = Math.floor(row!.ms / DAY_MS) * DAY_MS
})
afterAll(() => database.drop())

const nameOf = (table: string, day: number) =>
  `${table}_${new Date(todayMs + day * DAY_MS).toISOString().slice(0, 10).replaceAll('-', '')}`

async function makeDay(day: number): Promise<void> {
  const startMs = todayMs + day * DAY_MS
  for (const table of Object.keys(HISTORY)) {
    await database.db.$client.unsafe(
      `create table ${nameOf(table, day)} partition of ${table} for values from ('${firstIdAt(startMs)}') to ('${firstIdAt(startMs + DAY_MS)}')`,
    )
  }
}

/** An event and an attempt of that time, the others hold what nobody asks here. */
async function addRows(atMs: number): Promise<void> {
  const id = newId(atMs)
  await database.db.$client`
    insert into dispatches (id, event_id, message_id, account_id, kind, state, created_at, ended_at)
    values (${id}, ${id}, ${id}, ${id}, 'original', 'exhausted', now(), now())`
  await database.db.$client`
    insert into attempts (dispatch_id, number, started_at, outcome) values (${id}, 1, now(), 'unknown')`
}

async function tables(): Promise<string[]> {
  const rows = await database.db.$client`
    select relname from pg_class where relkind = 'r' and relname ~ '_[0-9]{8}$' and relnamespace = 'public'::regnamespace`
  return rows.map(({ relname }) => relname)
}

const all = (day: number) => Object.keys(HISTORY).map((table) => nameOf(table, day))

test("days that ended more than 90 days ago go, by the database's clock, with all their rows, and no other", async () => {
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
  const [left] = await database.db.$client`
    select (select count(*)::int from dispatches) as dispatches, (select count(*)::int from attempts) as attempts`
  expect({ ...left }).toEqual({ dispatches: 2, attempts: 2 })
  expect(await dropExpired(database.url)).toEqual([])
})

test('sends go on while days are dropped: no insert waits longer than it ever does', async () => {
  await makeDay(-100)
  await makeDay(-101)
  const undisturbed = await insertsDuring(() => sleep(2_000))
  const dropping = await insertsDuring(() => dropExpired(database.url))
  expect(dropping.result).toHaveLength(2 * Object.keys(HISTORY).length)
  expect(dropping.waits.length).toBeGreaterThan(10)
  expect(Math.max(...dropping.waits)).toBeLessThan(1_000 + 3 * Math.max(...undisturbed.waits))
})

test('what a crash left half done is finished: a detaching that is pending, and a day without its parent', async () => {
  await makeDay(-110)
  await makeDay(-111)
  const [pending, orphan] = [nameOf('events', -110), nameOf('events', -111)]
  await database.db.$client.unsafe(`alter table events detach partition ${orphan}`)
  // A reader that saw the day as part of its table holds up the second half of the detaching.
  const reader = await database.db.$client.reserve()
  await reader`begin`
  await reader`select count(*) from events`
  const crashing = await database.db.$client.reserve()
  await crashing`set statement_timeout = 300`
  await expect(crashing.unsafe(`alter table events detach partition ${pending} concurrently`)).rejects.toThrow()
  await crashing`reset statement_timeout`
  crashing.release()
  const failing = await dropExpired(database.url).then(
    () => undefined,
    (error) => error,
  )
  await reader`rollback`
  reader.release()
  expect(failing).toMatchObject({ code: '55P03' })
  const dropped = await dropExpired(database.url)
  expect(dropped).toContain(pending)
  expect((await tables()).filter((name) => [...all(-110), ...all(-111)].includes(name))).toEqual([])
})

test('statistics go after 400 days, and none before', async () => {
  const sql = database.db.$client
  await sql`
    insert into hourly_stats (account_id, tenant_id, hour, domain)
    select gen_random_uuid(), '', date_trunc('hour', now(), 'UTC') - days * interval '1 day', 'example.test'
    from unnest(array[0, 90, 399, 401, 4000]) as days`
  await dropExpired(database.url)
  const left = await sql`select extract(day from now() - hour)::int as days from hourly_stats order by days`
  expect(left.map(({ days }) => days)).toEqual([0, 90, 399])
})

/** How long each insert waits while four callers insert all the time, until `work` ends. */
async function insertsDuring<T>(work: () => Promise<T>): Promise<{ result: T; waits: number[] }> {
  const waits: number[] = []
  let isOver = false
  const inserts = Array.from({ length: 4 }, async () => {
    while (!isOver) {
      const began = performance.now()
      await addRows(Date.now())
      waits.push(performance.now() - began)
    }
  })
  const result = await work().finally(() => {
    isOver = true
  })
  await Promise.all(inserts)
  return { result, waits }
}
