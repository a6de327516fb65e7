/** The limits that the operator sets with TIERS_FILE and DEFAULT_TIER. */
export interface OperatorLimits {
  readonly tiers: Readonly<Record<string, Tier>>
  /** The tier of accounts without a tier; one of `tiers`. */
  readonly defaultTier: string
  /** How many emails a new domain may send on its first, second, ... UTC day. When empty, no domain warms up. */
  readonly warmUp: readonly number[]
  readonly breaker: BreakerLimits
}

export interface Tier {
  readonly requestsPerMinute: number
}

/** Rates are fractions of a domain's emails in the rolling 24 hours. */
export interface BreakerLimits {
  /** The breaker ignores rates over fewer emails. */
  readonly minEmails: number
  readonly bounceWarn: number
  readonly bounceOpen: number
  readonly complaintWarn: number
  readonly complaintOpen: number
  /** How long an open breaker refuses all emails. */
  readonly openMinutes: number
}

/** The limits when nothing is configured. */
export const DEFAULT_LIMITS: OperatorLimits = Object.freeze({
  tiers: Object.freeze({
    free: Object.freeze({ requestsPerMinute: 60 }),
    pro: Object.freeze({ requestsPerMinute: 600 }),
    scale: Object.freeze({ requestsPerMinute: 6_000 }),
    unlimited: Object.freeze({ requestsPerMinute: 1_000_000 }),
  }),
  defaultTier: 'unlimited',
  warmUp: Object.freeze([500, 1_000, 2_500, 5_000, 10_000]),
  breaker: Object.freeze({
    minEmails: 100,
    bounceWarn: 0.05,
    bounceOpen: 0.1,
    complaintWarn: 0.001,
    complaintOpen: 0.005,
    openMinutes: 60,
  }),
})

/** Limits of one request, the same for all callers. The limits of one message are beside its checks. */
export const REQUEST_LIMITS = {
  bytes: 15 * 2 ** 20,
  batchEmails: 100,
  importAddresses: 10_000,
} as const

/** How long parts of a call may take, in milliseconds. */
export const CALL_TIMES = {
  /** The time to record a send's outcome, after its budget. */
  record: 10_000,
  /** How long a repeat waits for the first request with its key, after that request's lease. */
  repeat: 10_000,
  /** A message that has not started within this time of its batch is never started. */
  batchStart: 60_000,
} as const

/** The lease of a send: its budget, and the time to record its outcome. */
export const leaseOf = (sendBudgetMs: number) => sendBudgetMs + CALL_TIMES.record

/** The longest time of a call: a repeat of a batch, which waits for the batch in another process. */
export const longestCallMs = (sendBudgetMs: number) => CALL_TIMES.batchStart + leaseOf(sendBudgetMs) + CALL_TIMES.repeat

/** The tier of an account. A tier that is no longer configured counts as none. */
export function tierOf({ tiers, defaultTier }: OperatorLimits, tier: string | null): Tier & { readonly name: string } {
  const name = tier !== null && Object.hasOwn(tiers, tier) ? tier : defaultTier
  return { name, ...tiers[name]! }
}
