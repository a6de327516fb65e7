import { setTimeout as sleep } from 'node:timers/promises'

const LOOKS_EVERY_MS = 100

/** Looks until it holds. Throws when that takes too long; `what` says what did not come about. */
export async function until(what: string, holds: () => Promise<boolean>, withinMs = 120_000): Promise<void> {
  for (const deadline = performance.now() + withinMs; !(await holds()); await sleep(LOOKS_EVERY_MS)) {
    if (performance.now() > deadline) throw new Error(`After ${withinMs / 1_000} s it did not ${what}`)
  }
}
