import { fail } from '../errors.ts'

/** Runs work of an account, as long as it is not too much at once; then it is `rate_limit_exceeded`, and done by nobody. */
export type AtOnce = <T>(accountId: string, work: () => Promise<T>) => Promise<T>

/** For what costs more than a request: `most` pieces of work for each account, in this process. */
export function atOnce(most: number, retryAfterSeconds: number): AtOnce {
  const running = new Map<string, number>()
  return async (accountId, work) => {
    const others = running.get(accountId) ?? 0
    if (others >= most) {
      const words = `${most} such calls of this account are running. Wait ${retryAfterSeconds} s.`
      throw fail('rate_limit_exceeded', words, { retryAfterSeconds })
    }
    running.set(accountId, others + 1)
    try {
      return await work()
    } finally {
      const left = running.get(accountId)! - 1
      if (left > 0) running.set(accountId, left)
      else running.delete(accountId)
    }
  }
}
