import { fail } from '../errors.ts'
import { createTally } from '../tally.ts'

/** Runs a piece of work for an account. Throws `rate_limit_exceeded`, without running it, when too many are running. */
export type AtOnce = <T>(accountId: string, work: () => Promise<T>) => Promise<T>

/**
 * Limits work that costs more than an ordinary request to `most` pieces at a time for each account, in this process.
 */
export function atOnce(most: number, retryAfterSeconds: number): AtOnce {
  const running = createTally()
  return async (accountId, work) => {
    if (running.of(accountId) >= most) {
      const message = `${most} such calls of this account are running. Wait ${retryAfterSeconds} s.`
      throw fail('rate_limit_exceeded', message, { retryAfterSeconds })
    }
    running.add(accountId, 1)
    try {
      return await work()
    } finally {
      running.add(accountId, -1)
    }
  }
}
