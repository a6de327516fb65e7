import { performance } from 'node:perf_hooks'
import type { Database } from './connect.ts'
import { every } from './every.ts'

/** The database's time, Unix milliseconds. A node whose own clock is wrong or jumps neither misses a partition nor expires a row. */
export interface DatabaseClock {
  now(): number
  stop(): void
}

const MEASURE_EVERY_MS = 60_000

/** Measures the offset between the database's clock and this process's monotonic one, now and every minute. */
export async function databaseClock(db: Database): Promise<DatabaseClock> {
  let offset = 0
  const measure = async () => {
    const before = performance.now()
    const [row] = await db.$client`select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`
    offset = row!.ms - (before + performance.now()) / 2
  }
  await measure()
  // A failed measurement keeps the last offset: the monotonic clock drifts by less than a millisecond a minute.
  const { stop } = every(MEASURE_EVERY_MS, measure, () => {})
  return { now: () => offset + performance.now(), stop }
}
