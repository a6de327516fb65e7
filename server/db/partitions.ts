import { runEvery } from '../async/run-every.ts'
import { databaseTime } from './clock.ts'
import { sqlStateOf } from './collector.ts'
import type { Database } from './connect.ts'
import { alterTables, ddl } from './ddl.ts'
import { firstIdAt } from './ids.ts'
import { HISTORY } from './schema.ts'
import { inMs, one, run } from './statement.ts'

const DAY_MS = 86_400_000
const DAYS_AHEAD = 7
const EVERY_MS = 3_600_000
/** Days that something held up are made within 90 s after it has ended. */
const AGAIN_MS = 30_000

const TABLES = Object.keys(HISTORY)

/**
 * Creates the partitions of yesterday, today and the next days by the database's clock, seven unless a test needs
 * fewer. The demo of `npm run demo` fills days before yesterday, too. There is no DEFAULT partition: a stray row in one
 * would block the day it belongs to. Makes what it can, and then throws the first error.
 */
export async function makePartitions(db: Database, daysAhead = DAYS_AHEAD, daysBack = 1): Promise<void> {
  const today = Math.floor((await databaseTime(db)) / DAY_MS) * DAY_MS
  const days = Array.from({ length: daysBack + 1 + daysAhead }, (_, i) => dayName(today + (i - daysBack) * DAY_MS))
  const names = TABLES.flatMap((table) => days.map((day) => `${table}_${day}`))
  const missing = new Set((await run<{ name: string }>(db, MISSING, [`{${names}}`])).map(({ name }) => name))
  let fault: unknown
  for (const table of TABLES) {
    try {
      for (const name of days.map((day) => `${table}_${day}`))
        if (missing.has(name)) await makePartition(db, table, name)
    } catch (error) {
      fault ??= error
    }
  }
  if (fault) throw fault
}

const dayName = (day: number) => new Date(day).toISOString().slice(0, 10).replaceAll('-', '')

/** One statement for all: each start and each hour asks, and the database may be far away. */
const MISSING = 'select name from unnest($1::text[]) as name where to_regclass(name) is null'

/** The ids of a day of history: from the first one, up to but not including the first one of the next day. */
export function idsOfDay(partition: string): { first: string; end: string } {
  const [, year, month, day] = /_(\d{4})(\d\d)(\d\d)$/.exec(partition)!
  const startMs = Date.UTC(Number(year), Number(month) - 1, Number(day))
  return { first: firstIdAt(startMs), end: firstIdAt(startMs + DAY_MS) }
}

/** SQLSTATE duplicate_table, that of its row type, and unique_violation in the catalogue. */
const EXISTS_ALREADY = ['42P07', '42710', '23505']

// CREATE TABLE ... PARTITION OF waits for every reader of the parent, and all sends would wait behind it. ATTACH waits
// for none, and creates the indexes and triggers of the new table.
async function makePartition(db: Database, table: string, name: string): Promise<void> {
  const { first, end } = idsOfDay(name)
  const like = 'including defaults including constraints including storage including compression'
  await alterTables(db, async ({ alter }) => {
    await alter(ddl`create table ${name} (like ${table} ${like})`)
    await alter(ddl`alter table ${table} attach partition ${name} for values from ('${first}') to ('${end}')`)
  }).catch((error) => {
    // Another process created it at this very moment.
    if (!EXISTS_ALREADY.includes(sqlStateOf(error))) throw error
  })
}

/**
 * SQL: the first day, from today on in UTC, that lacks a partition of a table of history. No send can be
 * stored on it. NULL when no day of the next ten lacks one.
 */
export const FIRST_MISSING_DAY = `(
  select min(d.day) from (
    select (clock_timestamp() at time zone 'utc')::date + ahead as day from generate_series(0, 9) as ahead) d
  where (
    select count(*) from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = any('{${TABLES}}'::regclass[]) and not i.inhdetachpending
      and right(c.relname, 8) = to_char(d.day, 'YYYYMMDD')
  ) < ${TABLES.length}
)`

const HISTORY_END = `
  select ${inMs(`${FIRST_MISSING_DAY}::timestamp`)} as "endMs"`

/** How long `createHistoryCheck` uses what it has read about a day that is missing. */
const MISSING_MS = 1_000

/**
 * Creates the check that history has the day of every time up to this one, in Unix milliseconds. It reads the catalogue
 * for times after those that it knows of. Throws when a day is missing.
 */
export function createHistoryCheck(db: Database): (untilMs: number) => Promise<void> {
  let endMs = 0
  let reading: Promise<number> | undefined
  const read = async () => one(await run<{ endMs: number | null }>(db, HISTORY_END)).endMs ?? Number.POSITIVE_INFINITY
  return async (untilMs) => {
    if (untilMs < endMs) return
    reading ??= read().finally(() => {
      setTimeout(() => {
        reading = undefined
      }, MISSING_MS).unref()
    })
    endMs = await reading
    if (untilMs >= endMs) throw new Error(`history has no partition for ${new Date(endMs).toISOString().slice(0, 10)}`)
  }
}

interface KeptPartitions {
  /** Creates them: `makePartitions`. */
  make(): Promise<unknown>
  report(error: unknown): void
}

/**
 * Creates partitions now and every hour until stopped. What fails is reported and tried again within half a minute: a
 * process serves without the days that are not needed yet.
 */
export async function keepPartitions({ make, report }: KeptPartitions): Promise<{ stop(): void }> {
  let dueMs = 0
  async function round(): Promise<void> {
    if (performance.now() < dueMs) return
    await make()
    dueMs = performance.now() + EVERY_MS
  }
  await round().catch(report)
  return runEvery(AGAIN_MS, round, report)
}
