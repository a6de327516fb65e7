import type { DatabaseClock } from './clock.ts'
import { firstIdAt, timeOfId } from './ids.ts'

const RETENTION_DAYS = 90
export const RETENTION_MS = RETENTION_DAYS * 86_400_000

/** How long statistics are kept by the minute. */
export const MINUTES_KEPT_DAYS = 2

/** How long statistics are kept by the hour. After that, a day has its counts in its first hour. */
export const HOURS_KEPT_DAYS = 90

/** How long statistics are kept: enough to compare a month with the same month a year before. */
export const STATISTICS_DAYS = 400

/** Whether an id is older than all history: exactly 90 days, by the database's clock. */
export function isExpired(id: string, clock: DatabaseClock): boolean {
  return timeOfId(id) < clock.now() - RETENTION_MS
}

/**
 * The smallest id that history can still hold. History is always read with a lower bound, so that PostgreSQL looks only
 * at the partitions above it.
 */
export function oldestKeptId(clock: DatabaseClock): string {
  return firstIdAt(clock.now() - RETENTION_MS)
}

const DAY_MS = 86_400_000

/** The first hour, in Unix milliseconds, that statistics still tell apart from the others of its day. */
export const firstKeptHour = (nowMs: number): number => Math.floor(nowMs / DAY_MS - HOURS_KEPT_DAYS) * DAY_MS
