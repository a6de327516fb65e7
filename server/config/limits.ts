/** The limits that the operator sets with TIERS_FILE and DEFAULT_TIER. */
export interface OperatorLimits {
  readonly tiers: Readonly<Record<string, Tier>>
  /** The tier of accounts that have none of their own; a name in `tiers`. */
  readonly defaultTier: string
  /**
   * Emails per UTC day that a new domain may send: the first number is the limit of its first day, and so on. After the
   * last one there is no limit. When empty, new domains have none.
   */
  readonly warmUp: readonly number[]
  readonly breaker: BreakerLimits
  /** By name. */
  readonly pools: Readonly<Record<string, AddressPool>>
  /** What a sending address may ask of each site. The engine has defaults for sites that are absent. */
  readonly shaping: readonly ShapingRow[]
}

export interface Tier {
  readonly requestsPerMinute: number
  /** Emails that each of its accounts may send in a UTC month; absent for no limit. */
  readonly emailsPerMonth?: number
  /** The pool whose addresses its accounts send from; a name in `pools`. */
  readonly pool?: string
}

/** Addresses that mail leaves from. */
export interface AddressPool {
  readonly addresses: readonly string[]
  /** Whether each address warms up at each provider. */
  readonly warmsUp: boolean
}

/** Limits of a site; each that is absent keeps its default. */
export interface ShapingRow {
  /** The end of its mail exchangers' names, or a recipient domain. */
  readonly site: string
  readonly connections?: number
  /** The most messages over one connection. */
  readonly messages?: number
  readonly perMinute?: number
}

/** The circuit breaker of a domain. Rates are fractions of the domain's emails of the last 24 hours, from 0 to 1. */
export interface BreakerLimits {
  /** While the domain has sent fewer emails than this, its rates neither warn nor open a closed breaker. */
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
    // In effect no limit.
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
  pools: Object.freeze({}),
  shaping: Object.freeze([]),
})

/** Limits of one request, the same for all callers. Those of one message are in `server/sending/message.ts`. */
export const REQUEST_LIMITS = {
  bytes: 15 * 2 ** 20,
  batchEmails: 100,
  importAddresses: 10_000,
} as const

/** How long parts of a call may take. `SEND_BUDGET_MS` limits the send itself. */
export const CALL_TIMES = {
  /** For storing a send's outcome when its budget has ended. */
  recordMs: 10_000,
  /** How long after the lease of the first request a repeat with the same idempotency key stops waiting for it. */
  repeatMs: 10_000,
  /** A message that has not started within this time of its batch is never started. */
  batchStartMs: 60_000,
} as const

/** The lease of a send in milliseconds: when it ends, a message that has no outcome yet is settled by the sweeper. */
export const leaseOf = (sendBudgetMs: number) => sendBudgetMs + CALL_TIMES.recordMs

/** The longest call: a repeat of a batch that waits for the same batch in another process, until it stops waiting. */
export const longestCallMs = (sendBudgetMs: number) =>
  CALL_TIMES.batchStartMs + leaseOf(sendBudgetMs) + CALL_TIMES.repeatMs

/** The tier of an account; `tier` is null when it has none. A tier that is no longer configured counts as none. */
export function tierOf(
  { tiers, defaultTier }: Pick<OperatorLimits, 'tiers' | 'defaultTier'>,
  tier: string | null,
): Tier & { readonly name: string } {
  const name = tier !== null && Object.hasOwn(tiers, tier) ? tier : defaultTier
  return { name, ...tiers[name]! }
}
