import type { Rate } from '../caller.ts'
import { type OperatorLimits, tierOf } from '../config/limits.ts'
import type { Database } from '../db/connect.ts'
import { createLimiter, usedUp } from './limiter.ts'

interface TierCountParts {
  db: Database
  limits: OperatorLimits
  /** Called with each request that was counted against its account's limit. */
  onCount?(admitted: boolean): void
}

export interface CountedRequest {
  accountId: string
  /** The account's tier; null for the default one. */
  tier: string | null
  /** Receives the remaining requests, also when the request is refused for lack of them. */
  tellRate(rate: Rate): void
}

/**
 * Counts a request against the requests per minute of its account's tier. Throws `rate_limit_exceeded`, and
 * `transient_failure` when the database cannot count it.
 */
export function createTierCount({ db, limits, onCount }: TierCountParts): (request: CountedRequest) => Promise<void> {
  const count = createLimiter(db)

  return async ({ accountId, tier, tellRate }) => {
    const { requestsPerMinute } = tierOf(limits, tier)
    const { admitted, secondsLeft, ...rate } = await count(accountId, requestsPerMinute)
    onCount?.(admitted)
    tellRate(rate)
    if (admitted) return
    const sentence = `The ${requestsPerMinute} requests per minute of this account are used up.`
    throw usedUp(sentence, secondsLeft, 'The requests per minute of the account were used up.')
  }
}
