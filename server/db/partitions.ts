import { runEvery } from '../async/run-every.ts'
import { databaseTime } from './clock.ts'
import { sqlStateOf } from './collector.ts'
import type { Database } from './connect.ts'
import { firstIdAt } from './ids.ts'
import { HISTORY } from './schema.ts'
import { run } from './statement.ts'

const DAY_MS = 86_400_000
const DAYS_AHEAD = 7
const EVERY_MS = 3_600_000

/**
 * Creates the partitions of yesterday, today and the next days by the database's clock, seven unless a test needs
 * fewer. The demo of `npm run demo` fills days before yesterday, too. There is no DEFAULT partition: a stray row in one
 * would block the day it belongs to.
 */
export async function makePartitions(db: Database, daysAhead = DAYS_AHEAD, daysBack = 1): Promise<void> {
  const today = Math.floor((await databaseTime(db)) / DAY_MS) * DAY_MS
  for (const table of Object.keys(HISTORY)) {
    for (let day = today - daysBack * DAY_MS; day <= today + daysAhead * DAY_MS; day += DAY_MS)
      await makePartition(db, table, day)
  }
}

/** The ids of a day of history: from the first one, up to but not including the first one of the next day. */
export function idsOfDay(partition: string): { first: string; end: string } {
  const [, year, month, day] = /_(\d{4})(\d\d)(\d\d)$/.exec(partition)!
  const startMs = Date.UTC(Number(year), Number(month) - 1, Number(day))
  return { first: firstIdAt(startMs), end: firstIdAt(startMs + DAY_MS) }
}

/** SQLSTATE duplicate_table, and unique_violation in the catalogue. */
const EXISTS_ALREADY = ['42P07', '23505']

async function makePartition(db: Database, table: string, day: number): Promise<void> {
  const name = `${table}_${new Date(day).toISOString().slice(0, 10).replaceAll('-', '')}`
  // The look-up comes first: CREATE TABLE IF NOT EXISTS ... PARTITION OF locks the parent even when the table exists.
  const [partition] = await run<{ name: string | null }>(db, 'select to_regclass($1)::text as name', [name])
  if (partition!.name !== null) return
  const { first, end } = idsOfDay(name)
  await run(
    db,
    `create table if not exists ${name} partition of ${table} for values from ('${first}') to ('${end}')`,
  ).catch((error) => {
    // Another process created it at this very moment.
    if (!EXISTS_ALREADY.includes(sqlStateOf(error))) throw error
  })
}

/**
 * Creates partitions every hour until stopped. A failure is reported and tried again an hour later, six days before a
 * partition would be missing.
 */
export function keepPartitions(make: () => Promise<unknown>, report: (error: unknown) => void): { stop(): void } {
  return runEvery(EVERY_MS, make, report)
}
