import { fail } from '../errors.ts'
import { createTally } from '../tally.ts'

/** Runs work of an account, as long as it is not too much at once; then it is `rate_limit_exceeded`, and done by nobody. */
export type AtOnce = <T>(accountId: string, work: () => Promise<T>) => Promise<T>

/** For what costs more than a request: `most` pieces of work for each account, in this process. */
export function atOnce(most: number, retryAfterSeconds: number): AtOnce {
  const running = createTally()
  return async (accountId, work) => {
    if (running.of(accountId) >= most) {
      const words = `${most} such calls of this account are running. Wait ${retryAfterSeconds} s.`
      throw fail('rate_limit_exceeded', words, { retryAfterSeconds })
    }
    running.add(accountId, 1)
    try {
      return await work()
    } finally {
      running.add(accountId, -1)
    }
  }
}
