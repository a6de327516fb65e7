import type { DatabaseClock } from './clock.ts'
import { firstIdAt, timeOfId } from './ids.ts'

const RETENTION_DAYS = 90
export const RETENTION_MS = RETENTION_DAYS * 86_400_000

/** How long hourly statistics are kept: enough to compare a month with the same month a year before. */
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
