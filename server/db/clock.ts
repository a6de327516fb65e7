import { performance } from 'node:perf_hooks'
import { every } from '../every.ts'
import type { Database } from './connect.ts'

/** The database's time, Unix milliseconds. A node whose own clock is wrong or jumps neither misses a partition nor expires a row. */
export interface DatabaseClock {
  now(): number
  stop(): void
}

const MEASURE_EVERY_MS = 60_000
/** A question that took no longer has told the time well enough. */
const QUICK_MS = 5
const MAX_QUESTIONS = 5

/** Measures the offset between the database's clock and this process's monotonic one, now and every minute. */
export async function databaseClock(db: Database): Promise<DatabaseClock> {
  let offset = 0
  /** By the quickest of some questions: the answer is half as wrong as it was slow. */
  const measure = async () => {
    for (
      let asked = 0, quickestMs = Number.POSITIVE_INFINITY;
      asked < MAX_QUESTIONS && quickestMs > QUICK_MS;
      asked++
    ) {
      const before = performance.now()
      const [row] = await db.$client`select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`
      const after = performance.now()
      if (after - before > quickestMs) continue
      quickestMs = after - before
      offset = row!.ms - (before + after) / 2
    }
  }
  await measure()
  // A failed measurement keeps the last offset: the monotonic clock drifts by less than a millisecond a minute.
  const { stop } = every(MEASURE_EVERY_MS, measure, () => {})
  return { now: () => offset + performance.now(), stop }
}
