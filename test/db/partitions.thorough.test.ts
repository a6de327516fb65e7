import { afterEach, expect, test, vi } from 'vitest'
import { databaseTime } from '../../server/db/clock.ts'
import { isLocked } from '../../server/db/collector.ts'
import { connect } from '../../server/db/connect.ts'
import { firstIdAt } from '../../server/db/ids.ts'
import { FIRST_MISSING_DAY, keepPartitions, makePartitions } from '../../server/db/partitions.ts'
import { HISTORY, openMessages } from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { createClaim } from '../../server/ledger/claim.ts'
import { newClaim } from '../harness/claim.ts'
import { testDatabase } from '../harness/postgres.ts'

const DAY_MS = 86_400_000
const TABLES = Object.keys(HISTORY)

const database = await testDatabase()
afterEach(() => vi.useRealTimers())

async function dayOf(ahead: number): Promise<{ startMs: number; name: string }> {
  const startMs = Math.floor((await databaseTime(database.db)) / DAY_MS + ahead) * DAY_MS
  return { startMs, name: new Date(startMs).toISOString().slice(0, 10).replaceAll('-', '') }
}

/** What PostgreSQL knows of a table, without its name. */
const FACTS = `
  select (select json_agg(json_build_array(attname, atttypid::regtype, attnotnull, attstorage, attcompression,
      pg_get_expr(d.adbin, d.adrelid)) order by attnum)
      from pg_attribute a left join pg_attrdef d on d.adrelid = attrelid and d.adnum = attnum
      where attrelid = c.oid and attnum > 0) as columns,
    (select json_agg(replace(pg_get_indexdef(indexrelid), right(c.relname, 8), '') order by pg_get_indexdef(indexrelid))
      from pg_index where indrelid = c.oid) as indexes,
    (select json_agg(json_build_array(contype, pg_get_constraintdef(oid), coninhcount, conislocal)
      order by contype, pg_get_constraintdef(oid)) from pg_constraint where conrelid = c.oid) as constraints,
    (select json_agg(json_build_array(tgname, tgenabled, tgtype, tgfoid::regproc) order by tgname) from pg_trigger
      where tgrelid = c.oid) as triggers,
    c.reloptions as options, c.relpersistence as persistence
  from pg_class c where c.oid = $1::text::regclass`

test('an attached day is as PostgreSQL makes one in place', async () => {
  const inPlace = await dayOf(20)
  const { db } = database
  for (const table of TABLES) {
    const bounds = `from ('${firstIdAt(inPlace.startMs)}') to ('${firstIdAt(inPlace.startMs + DAY_MS)}')`
    await run(db, `create table ${table}_${inPlace.name} partition of ${table} for values ${bounds}`)
  }
  await makePartitions(db, 3)
  const attached = await dayOf(3)
  for (const table of TABLES) {
    const [wanted] = await run<Record<string, unknown>>(db, FACTS, [`${table}_${inPlace.name}`])
    const [made] = await run<Record<string, unknown>>(db, FACTS, [`${table}_${attached.name}`])
    // A column of a day may be its own or its parent's: that decides nothing.
    const withoutOrigin = (facts: Record<string, unknown>) =>
      JSON.stringify(facts).replaceAll(/,(\d+),(true|false)\]/g, ']')
    expect(withoutOrigin(made!)).toBe(withoutOrigin(wanted!))
    for (const { name } of await run<{ name: string }>(
      db,
      `select indexrelid::regclass::text as name from pg_index where indrelid = '${table}_${attached.name}'::regclass
         and not exists (select from pg_inherits where inhrelid = indexrelid)`,
    ))
      expect.fail(`${name} belongs to no index of ${table}`)
  }
  for (const table of TABLES) await run(db, `drop table ${table}_${inPlace.name}`)
})

/** A lock that no DDL gets beside, as a manual ANALYZE has. */
async function holdDdl(table: string) {
  const held = await database.db.$client.reserve()
  await held`begin`
  await held.unsafe(`lock table ${table} in share update exclusive mode`)
  return async () => {
    await held`rollback`
    held.release()
  }
}

test('a table that is locked keeps no other table from its days, and has its own within 90 s after the lock', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const faults: unknown[] = []
  const release = await holdDdl('events')
  const days = { make: () => makePartitions(database.db, 5), report: (error: unknown) => void faults.push(error) }
  // The process starts, and stays up.
  const kept = await keepPartitions(days)
  expect(faults.map(isLocked)).toEqual([true])
  const { name } = await dayOf(5)
  const made = async () => {
    const rows = await run<{ name: string }>(
      database.db,
      `select relname as name from pg_class where relkind = 'r' and relname like '%\\_${name}'`,
    )
    return rows.map(({ name }) => name.slice(0, -9)).toSorted()
  }
  expect(await made()).toEqual(TABLES.filter((table) => table !== 'events').toSorted())
  await release()
  vi.advanceTimersByTime(30_000)
  await expect.poll(made).toEqual(TABLES.toSorted())
  kept.stop()
})

test('a claim whose lease reaches a day that lacks a table is refused, and leaves nothing', async () => {
  const { db } = database
  await makePartitions(db, 8)
  const [missing] = await run<{ day: string }>(db, `select ${FIRST_MISSING_DAY}::text as day`)
  const missingMs = Date.parse(missing!.day)
  const other = connect(database.url, { connections: 2 })
  for (const [createdAtMs, isClaimed] of [
    [missingMs - 41_000, true],
    [missingMs - 20_000, false],
    [missingMs + 1_000, false],
  ] as const) {
    const before = await db.$count(openMessages)
    const claimed = createClaim(other)(newClaim({ createdAtMs, leaseMs: 40_000 })).catch((error) => error.message)
    expect(await claimed).toBe(isClaimed ? 'claimed' : `history has no partition for ${missing!.day}`)
    expect(await db.$count(openMessages)).toBe(before + (isClaimed ? 1 : 0))
  }
  await run(db, `drop table events_${(await dayOf(0)).name}`)
  const today = createClaim(other)(newClaim())
  await expect(today).rejects.toThrow('history has no partition for')
  await makePartitions(db, 1)
  await expect.poll(() => createClaim(other)(newClaim())).toBe('claimed')
  await other.$client.end()
})
