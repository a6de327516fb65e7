import type { BreakerLimits } from '../config/limits.ts'
import type { Database } from '../db/connect.ts'
import { recent } from '../recent.ts'
import { type Judged, turnOf, warns } from './breaker-rules.ts'
import { changeState, readStates, takeOfMinute } from './breaker-state.ts'

/** `paused` by an open breaker; `throttled` by a half-open one, or near to being paused; otherwise `active`. */
export type SendingState = 'active' | 'throttled' | 'paused'

export interface Refusal {
  state: 'throttled' | 'paused'
  /** Whole seconds, at least 1. */
  retryAfterSeconds: number
}

export interface Breaker {
  /**
   * Whether a message of so many emails may be sent from this domain: undefined when it may. A half-open breaker counts them in its
   * minute. The domain is given as it is stored: lower case, A-labels.
   */
  admit(accountId: string, domain: string, emails: number): Promise<Refusal | undefined>
  /** For dry runs: counts nothing. `retryAfterSeconds` is absent while an email may be sent. */
  peek(accountId: string, domain: string): Promise<{ state: SendingState; retryAfterSeconds?: number }>
  /** For display: the state of each of these domains, in one query. */
  states(accountId: string, domains: readonly string[]): Promise<Map<string, SendingState>>
}

/** How long a process goes by what it has read: within this time it notices what another process has changed. */
const KEEP_MS = 1_000
const MAX_DOMAINS = 10_000

/** The circuit breaker of every sending domain. A domain that sends a lot costs one query a second, not one for each send. */
export function createBreaker({ db, thresholds }: { db: Database; thresholds: BreakerLimits }): Breaker {
  const { openMinutes } = thresholds

  async function judge(accountId: string, domain: string) {
    const where = { accountId, domain, openMinutes }
    const read = async () => (await readStates(db, { accountId, domains: [domain], openMinutes }))[0]!
    const seen = await read()
    const turn = turnOf(seen, thresholds)
    if (turn) await changeState(db, where, seen, turn)
    const judged = turn ? await read() : seen
    return { ...judged, waitUntil: performance.now() + judged.waitSeconds * 1_000 }
  }
  const recently = recent({
    read: (key) => judge(...(key.split(' ') as [string, string])),
    keepMs: KEEP_MS,
    missingMs: KEEP_MS,
    maxEntries: MAX_DOMAINS,
  })
  // Neither an id nor a domain holds a space.
  const known = async (accountId: string, domain: string) => (await recently(`${accountId} ${domain}`))!

  const shown = (judged: Judged): SendingState => {
    const state = turnOf(judged, thresholds)?.state ?? judged.state
    if (state === 'closed') return warns(judged, thresholds) ? 'throttled' : 'active'
    return state === 'open' ? 'paused' : 'throttled'
  }

  return {
    async admit(accountId, domain, emails) {
      const judged = await known(accountId, domain)
      if (judged.state === 'closed') return undefined
      if (judged.state === 'open') return { state: 'paused', retryAfterSeconds: secondsUntil(judged.waitUntil) }
      const refused = await takeOfMinute(db, { accountId, domain, openMinutes }, emails)
      if (!refused) return undefined
      const state = refused.state === 'open' ? 'paused' : 'throttled'
      return { state, retryAfterSeconds: wholeSeconds(refused.waitSeconds) }
    },

    async peek(accountId, domain) {
      const judged = await known(accountId, domain)
      if (judged.state === 'open' || judged.waitUntil > performance.now()) {
        return { state: shown(judged), retryAfterSeconds: secondsUntil(judged.waitUntil) }
      }
      return { state: shown(judged) }
    },

    async states(accountId, domains) {
      const judged = await readStates(db, { accountId, domains, openMinutes })
      return new Map(judged.map((each) => [each.domain, shown(each)]))
    },
  }
}

function secondsUntil(time: number): number {
  return wholeSeconds((time - performance.now()) / 1_000)
}

function wholeSeconds(seconds: number): number {
  return Math.max(1, Math.ceil(seconds))
}
