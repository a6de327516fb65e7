import { setTimeout as sleep } from 'node:timers/promises'

export const LONGEST_PAUSE_MS = 1_000

/** Creates the pause before another try, in milliseconds: each is twice as long as the one before, up to `mostMs`. */
export function createPause(firstMs = 50, mostMs = LONGEST_PAUSE_MS): (options?: { ref: boolean }) => Promise<void> {
  let nextMs = firstMs
  return async (options) => {
    const ms = nextMs
    nextMs = Math.min(ms * 2, mostMs)
    await sleep(ms, undefined, options)
  }
}
