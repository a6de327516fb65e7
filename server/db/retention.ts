import type { DatabaseClock } from './clock.ts'
import { firstIdAt, timeOfId } from './ids.ts'

const RETENTION_DAYS = 90
export const RETENTION_MS = RETENTION_DAYS * 86_400_000

/** Statistics by the hour: a year beside the year before it, and a month to read it in. */
export const STATISTICS_DAYS = 400

/** Whether an id is older than everything that is kept: exactly 90 days, by the database's clock. */
export function isExpired(id: string, clock: DatabaseClock): boolean {
  return timeOfId(id) < clock.now() - RETENTION_MS
}

/** The lower bound of the ids that are still kept: history is always read with one, so that only those partitions are looked at. */
export function oldestKeptId(clock: DatabaseClock): string {
  return firstIdAt(clock.now() - RETENTION_MS)
}
