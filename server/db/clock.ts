import { performance } from 'node:perf_hooks'
import { runEvery } from '../async/run-every.ts'
import type { Database } from './connect.ts'
import { inMs, one, run } from './statement.ts'

/**
 * The database's time, in Unix milliseconds. Ids and expiry follow it, so a node whose own clock is wrong or jumps
 * neither misses a partition nor expires a row.
 */
export interface DatabaseClock {
  now(): number
  stop(): void
}

const MEASURE_EVERY_MS = 60_000
/** A measurement this quick is exact enough. */
const QUICK_MS = 5
const MAX_MEASUREMENTS = 5

const NOW = `select ${inMs('clock_timestamp()')} as ms`

/** Asks the database for its time, in Unix milliseconds. */
export async function databaseTime(db: Database): Promise<number> {
  return one(await run<{ ms: number }>(db, NOW)).ms
}

/** Measures the offset between the database's clock and this process's monotonic clock, now and every minute. */
export async function createDatabaseClock(db: Database): Promise<DatabaseClock> {
  let offset = 0
  /** Uses the quickest of several measurements: the result is wrong by half the round trip at most. */
  const measure = async () => {
    let quickestMs = Number.POSITIVE_INFINITY
    for (let count = 0; count < MAX_MEASUREMENTS && quickestMs > QUICK_MS; count++) {
      const before = performance.now()
      const databaseMs = await databaseTime(db)
      const after = performance.now()
      if (after - before > quickestMs) continue
      quickestMs = after - before
      offset = databaseMs - (before + after) / 2
    }
  }
  await measure()
  // A failed measurement keeps the last offset: the monotonic clock drifts by less than a millisecond a minute.
  const { stop } = runEvery(MEASURE_EVERY_MS, measure, () => {})
  return { now: () => offset + performance.now(), stop }
}
