import { setTimeout as sleep } from 'node:timers/promises'

const DAY_MS = 86_400_000

/** For tests of days: waits for the next one (UTC) when this one ends within `ms`. */
export async function waitForDayOf(ms: number): Promise<void> {
  const leftMs = DAY_MS - (Date.now() % DAY_MS)
  if (leftMs < ms) await sleep(leftMs + 1_000)
}
