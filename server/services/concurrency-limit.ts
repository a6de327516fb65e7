import { createKeyedAmounts } from '../../net/keyed-amounts.ts'
import { fail } from '../errors.ts'

/** Runs a piece of work for an account. Throws `rate_limit_exceeded`, without running it, when too many are running. */
type ConcurrencyLimit = <T>(accountId: string, work: () => Promise<T>) => Promise<T>

/**
 * Limits work that costs more than an ordinary request to `maxPerAccount` pieces at a time, in this process. Nothing
 * waits; where requests may wait, `net/fair-slots.ts` is used.
 */
export function createConcurrencyLimit(maxPerAccount: number, retryAfterSeconds: number): ConcurrencyLimit {
  const running = createKeyedAmounts()
  return async (accountId, work) => {
    if (running.of(accountId) >= maxPerAccount) {
      const message = `${maxPerAccount} such calls of this account are running. Wait ${retryAfterSeconds} s.`
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
