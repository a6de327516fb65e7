import { outlast } from './waits.ts'

const HOUR_MS = 3_600_000

/** For tests of days: waits for the next one (UTC) when this one ends within `ms`. */
export const waitForDayOf = (ms: number) => waitForNext(24 * HOUR_MS, ms)

/** For tests of hours: waits for the next one when this one ends within `ms`. */
export const waitForHourOf = (ms: number) => waitForNext(HOUR_MS, ms)

async function waitForNext(periodMs: number, ms: number): Promise<void> {
  const leftMs = periodMs - (Date.now() % periodMs)
  if (leftMs < ms) await outlast(leftMs + 1_000)
}
