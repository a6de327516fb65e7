import type { Database } from '../db/connect.ts'
import { recent } from '../db/recent.ts'
import type { BreakerLimits } from '../limits.ts'
import { turnOf, warns } from './breaker-rules.ts'
import { changeState, readState, takeOfMinute } from './breaker-state.ts'

/** `paused` by an open breaker; `throttled` by a half-open one, or near to being paused; otherwise `active`. */
export type SendingState = 'active' | 'throttled' | 'paused'

export interface Refusal {
  state: SendingState
  /** Whole seconds, at least 1. */
  retryAfterSeconds: number
}

export interface Breaker {
  /**
   * Whether a message of so many emails may be sent from this domain: undefined when it may. A half-open breaker counts them in its
   * minute. The domain is given as it is stored: lower case, A-labels.
   */
  admit(accountId: string, domain: string, emails: number): Promise<Refusal | undefined>
  /** For display and dry runs: counts nothing. `retryAfterSeconds` is absent while an email may be sent. */
  peek(accountId: string, domain: string): Promise<{ state: SendingState; retryAfterSeconds?: number }>
}

/** How long a process goes by what it has read: within this time it notices what another process has changed. */
const KEEP_MS = 1_000
const MAX_DOMAINS = 10_000

/** The circuit breaker of every sending domain. A domain that sends a lot costs one query a second, not one for each send. */
export function createBreaker({ db, thresholds }: { db: Database; thresholds: BreakerLimits }): Breaker {
  const { openMinutes } = thresholds

  async function judge(accountId: string, domain: string) {
    const where = { accountId, domain, openMinutes }
    const seen = await readState(db, where)
    const turn = turnOf(seen, thresholds)
    if (turn) await changeState(db, where, seen, turn)
    const { state, waitSeconds, ...counts } = turn ? await readState(db, where) : seen
    return { state, waitUntil: performance.now() + waitSeconds * 1_000, warning: warns(counts, thresholds) }
  }
  const judged = recent({
    read: (key) => judge(...(key.split(' ') as [string, string])),
    keepMs: KEEP_MS,
    missingMs: KEEP_MS,
    maxEntries: MAX_DOMAINS,
  })
  // Both names are free of spaces.
  const known = async (accountId: string, domain: string) => (await judged(`${accountId} ${domain}`))!

  async function peek(accountId: string, domain: string) {
    const { state, waitUntil, warning } = await known(accountId, domain)
    const waitMs = waitUntil - performance.now()
    if (state === 'open') return refusal('paused', waitMs / 1_000)
    if (state === 'half_open')
      return waitMs > 0 ? refusal('throttled', waitMs / 1_000) : { state: 'throttled' as const }
    return { state: warning ? ('throttled' as const) : ('active' as const) }
  }

  async function admit(accountId: string, domain: string, emails: number) {
    const { state, waitUntil } = await known(accountId, domain)
    if (state === 'closed') return undefined
    if (state === 'open') return refusal('paused', (waitUntil - performance.now()) / 1_000)
    const refused = await takeOfMinute(db, { accountId, domain, openMinutes }, emails)
    return refused && refusal(refused.state === 'open' ? 'paused' : 'throttled', refused.waitSeconds)
  }
  return { admit, peek }
}

function refusal(state: 'throttled' | 'paused', seconds: number): Refusal {
  return { state, retryAfterSeconds: Math.max(1, Math.ceil(seconds)) }
}
