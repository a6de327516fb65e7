import { setTimeout as sleep } from 'node:timers/promises'

/** Waits until the condition holds. Throws after `withinMs`; `condition` is the text of the error. */
export async function until(
  condition: string,
  holds: () => Promise<boolean>,
  withinMs = 120_000,
  everyMs = 100,
): Promise<void> {
  for (const deadline = performance.now() + withinMs; !(await holds()); await sleep(everyMs)) {
    if (performance.now() > deadline) throw new Error(`Not within ${withinMs / 1_000} s: ${condition}`)
  }
}
