import type { BreakerLimits } from '../config/limits.ts'
import type { Database } from '../db/connect.ts'
import { recent } from '../recent.ts'
import { type BreakerReading, isNearOpening, transitionOf } from './breaker-rules.ts'
import { admitHalfOpen, changeState, readStates } from './breaker-state.ts'

/** `paused` by an open breaker; `throttled` by a half-open one, or when near to being paused; otherwise `active`. */
export type SendingState = 'active' | 'throttled' | 'paused'

export interface Refusal {
  state: 'throttled' | 'paused'
  /** Whole seconds, at least 1. */
  retryAfterSeconds: number
}

export interface Breaker {
  /**
   * Decides whether a message of so many emails may be sent from this domain: undefined when it may. A half-open
   * breaker counts the emails in its minute. The domain is as stored: lower case, A-labels.
   */
  admit(accountId: string, domain: string, emails: number): Promise<Refusal | undefined>
  /** For dry runs: counts nothing. `retryAfterSeconds` is absent while an email may be sent. */
  peek(accountId: string, domain: string): Promise<{ state: SendingState; retryAfterSeconds?: number }>
  /** For display: the state of each of these domains, in one query. */
  states(accountId: string, domains: readonly string[]): Promise<Map<string, SendingState>>
}

/** How long a process trusts its last reading. Within this time it notices what another process has changed. */
const KEEP_MS = 1_000
const MAX_DOMAINS = 10_000

/**
 * The circuit breaker of every sending domain. A domain that sends a lot costs one query a second, not one per send.
 */
export function createBreaker({ db, thresholds }: { db: Database; thresholds: BreakerLimits }): Breaker {
  const { openMinutes } = thresholds

  /** Reads the state, changed first when a change is due. `waitUntil` is a time of `performance.now()`. */
  async function readState(accountId: string, domain: string) {
    const read = async () => (await readStates(db, { accountId, domains: [domain], openMinutes }))[0]!
    const reading = await read()
    const transition = transitionOf(reading, thresholds)
    if (transition) await changeState(db, { accountId, domain, openMinutes }, reading, transition)
    const current = transition ? await read() : reading
    return { ...current, waitUntil: performance.now() + current.waitSeconds * 1_000 }
  }
  const recentState = recent({
    read: (key) => readState(...(key.split(' ') as [string, string])),
    keepMs: KEEP_MS,
    missingMs: KEEP_MS,
    maxEntries: MAX_DOMAINS,
  })
  // Neither an id nor a domain has a space.
  const stateOf = async (accountId: string, domain: string) => (await recentState(`${accountId} ${domain}`))!

  const sendingState = (reading: BreakerReading): SendingState => {
    const state = transitionOf(reading, thresholds)?.state ?? reading.state
    if (state === 'closed') return isNearOpening(reading, thresholds) ? 'throttled' : 'active'
    return state === 'open' ? 'paused' : 'throttled'
  }

  return {
    async admit(accountId, domain, emails) {
      const { state, waitUntil } = await stateOf(accountId, domain)
      if (state === 'closed') return undefined
      if (state === 'open') return { state: 'paused', retryAfterSeconds: secondsUntil(waitUntil) }
      const refusal = await admitHalfOpen(db, { accountId, domain, openMinutes }, emails)
      if (!refusal) return undefined
      return {
        state: refusal.state === 'open' ? 'paused' : 'throttled',
        retryAfterSeconds: wholeSeconds(refusal.waitSeconds),
      }
    },

    async peek(accountId, domain) {
      const reading = await stateOf(accountId, domain)
      const state = sendingState(reading)
      const mustWait = reading.state === 'open' || reading.waitUntil > performance.now()
      return mustWait ? { state, retryAfterSeconds: secondsUntil(reading.waitUntil) } : { state }
    },

    async states(accountId, domains) {
      const readings = await readStates(db, { accountId, domains, openMinutes })
      return new Map(readings.map((reading) => [reading.domain, sendingState(reading)]))
    },
  }
}

function secondsUntil(time: number): number {
  return wholeSeconds((time - performance.now()) / 1_000)
}

function wholeSeconds(seconds: number): number {
  return Math.max(1, Math.ceil(seconds))
}
