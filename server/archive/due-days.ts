import { statfs } from 'node:fs/promises'
import { databaseTime } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import { one, run } from '../db/statement.ts'
import { TABLES } from './days.ts'

const DAY_MS = 86_400_000
/** Two days before it is dropped. No send and no retry writes to a day that is so old. */
const WRITTEN_AT_DAYS = 88
/** The age at which a day is dropped that could not be written. */
const LOST_AT_DAYS = 97
/** From this fill of the disk on, it is dropped at 90 days: a full disk stops every send. */
const FULL_SHARE = 0.85

const OLD_DAYS = `
  select distinct right(relname, 8) as day from pg_class
  where relkind = 'r' and relnamespace = current_schema()::regnamespace and relname ~ '^(${TABLES.join('|')})_[0-9]{8}$'
    and right(relname, 8)
      < to_char((clock_timestamp() - interval '${WRITTEN_AT_DAYS} days') at time zone 'utc', 'YYYYMMDD')
  order by day`

/** The days of PostgreSQL that are old enough for the archive, the oldest first. */
export async function oldDays(db: Database): Promise<string[]> {
  const rows = await run<{ day: string }>(db, OLD_DAYS)
  return rows.map(({ day }) => dayOf(day))
}

/** `2026-08-01` of the `20260801` of a partition's name. */
export const dayOf = (name: string) => name.replace(/^(\d{4})(\d\d)(\d\d)$/, '$1-$2-$3')

export interface DropRule {
  /** The days that the archive has. */
  written: ReadonlySet<string>
  /** Whether no day is ever dropped without the archive. */
  isRequired: boolean
}

/** Returns which of the days that are over 90 days old may be dropped. */
export async function createDropRule(
  db: Database,
  { written, isRequired }: DropRule,
): Promise<(day: string) => boolean> {
  const lostBeforeMs = (await databaseTime(db)) - (LOST_AT_DAYS + 1) * DAY_MS
  const isFull = ((await usedShare(db)) ?? 0) >= FULL_SHARE
  return (day) => written.has(day) || (!isRequired && (isFull || Date.parse(day) <= lostBeforeMs))
}

/** How much of the disk of the database is used; undefined when it is not on this machine, or may not be known. */
async function usedShare(db: Database): Promise<number | undefined> {
  try {
    const { folder } = one(await run<{ folder: string }>(db, `select current_setting('data_directory') as folder`))
    const { blocks, bavail } = await statfs(folder)
    return 1 - bavail / blocks
  } catch {
    return undefined
  }
}
