import { every } from '../every.ts'
import { sqlStateOf } from './collector.ts'
import type { Database } from './connect.ts'
import { firstIdAt } from './ids.ts'
import { HISTORY } from './schema.ts'

const DAY_MS = 86_400_000
const DAYS_AHEAD = 7
const EVERY_MS = 3_600_000

/**
 * Makes the partitions of yesterday, today and the next seven days by the database's clock. There is no DEFAULT partition: a
 * stray row in one would block the day it belongs to.
 */
export async function makePartitions(db: Database): Promise<void> {
  const [row] = await db.$client`select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`
  const today = Math.floor(row!.ms / DAY_MS) * DAY_MS
  for (const table of Object.keys(HISTORY)) {
    for (let day = today - DAY_MS; day <= today + DAYS_AHEAD * DAY_MS; day += DAY_MS)
      await makePartition(db, table, day)
  }
}

async function makePartition(db: Database, table: string, day: number): Promise<void> {
  const name = `${table}_${new Date(day).toISOString().slice(0, 10).replaceAll('-', '')}`
  // Asked first: CREATE TABLE IF NOT EXISTS ... PARTITION OF locks the parent even when there is nothing to do.
  const [found] = await db.$client`select to_regclass(${name}) as known`
  if (found!.known !== null) return
  await db.$client
    .unsafe(
      `create table if not exists ${name} partition of ${table} for values from ('${firstIdAt(day)}') to ('${firstIdAt(day + DAY_MS)}')`,
    )
    .catch((error) => {
      // Another process made it at this very moment.
      if (!MADE_ALREADY.includes(sqlStateOf(error))) throw error
    })
}

/** duplicate_table, unique_violation (of the catalogue) */
const MADE_ALREADY = ['42P07', '23505']

/** Makes partitions every hour until stopped; a failure is reported and tried again an hour later, six days before it would matter. */
export function keepPartitions(db: Database, report: (error: unknown) => void): { stop(): void } {
  return every(EVERY_MS, () => makePartitions(db), report)
}
