/** What the operator can set of the limits, by TIERS_FILE and DEFAULT_TIER. */
export interface Limits {
  readonly tiers: Readonly<Record<string, Tier>>
  /** The tier of accounts that have none set; one of `tiers`. */
  readonly defaultTier: string
  /** Emails a new domain may send on its first, second, ... UTC day. Empty: no domain warms up. */
  readonly warmUp: readonly number[]
  readonly breaker: BreakerLimits
}

export interface Tier {
  readonly requestsPerMinute: number
}

/** Rates are fractions of the emails of a domain in the rolling 24 hours. */
export interface BreakerLimits {
  /** Below it no rate means anything. */
  readonly minEmails: number
  readonly bounceWarn: number
  readonly bounceOpen: number
  readonly complaintWarn: number
  readonly complaintOpen: number
  /** How long an open breaker refuses everything. */
  readonly openMinutes: number
}

/** What holds when nothing is configured. */
export const DEFAULT_LIMITS: Limits = Object.freeze({
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

/** What one request may hold, whoever asks. What one message may hold stands beside its checks. */
export const REQUEST_LIMITS = {
  bytes: 15 * 2 ** 20,
  batchEmails: 100,
  importAddresses: 10_000,
} as const

/** How long parts of a call may take, in milliseconds. */
export const CALL_TIMES = {
  /** After the budget of a send, to record its outcome. */
  record: 10_000,
  /** After the lease of the first request with a key, to wait for its answer. */
  repeat: 10_000,
  /** A message that has not started within this time of its batch is never started. */
  batchStart: 60_000,
} as const

/** The lease of a send: its budget, and the time to record its outcome. */
export const leaseOf = (sendBudgetMs: number) => sendBudgetMs + CALL_TIMES.record

/** The longest any call may take: a repeat of a batch, which waits for a batch that another process runs. */
export const longestCallMs = (sendBudgetMs: number) => CALL_TIMES.batchStart + leaseOf(sendBudgetMs) + CALL_TIMES.repeat

/** The tier of an account. One that the table no longer holds counts as none set. */
export function tierOf({ tiers, defaultTier }: Limits, tier: string | null): Tier & { readonly name: string } {
  const name = tier !== null && Object.hasOwn(tiers, tier) ? tier : defaultTier
  return { name, ...tiers[name]! }
}
