import { createReadCache } from '../async/read-cache.ts'
import type { OperatorLimits } from '../config/limits.ts'
import type { Database } from '../db/connect.ts'
import { stepInTime } from '../db/outage.ts'
import { one } from '../db/statement.ts'
import { type BreakerReading, isNearOpening, type State, transitionOf } from './breaker-rules.ts'
import { admitHalfOpen, changeState, readStates } from './breaker-state.ts'

/**
 * How a domain may send. `paused`: its breaker is open and refuses all emails. `throttled`: its breaker is half-open
 * and admits ten emails a minute, or it is closed and the domain's rates are over a warning threshold, which limits
 * nothing yet. `active`: neither.
 */
export type SendingState = 'active' | 'throttled' | 'paused'

/** The sentence by which refused sends of a domain are found. */
export const BREAKER_REFUSED = 'The circuit breaker of the sending domain admitted no more.'

export interface BreakerRefusal {
  state: 'throttled' | 'paused'
  /** Whole seconds, at least 1. */
  retryAfterSeconds: number
}

export interface Breaker {
  /**
   * Returns undefined when a message to `copies` recipients may be sent from this domain, otherwise the refusal. A
   * half-open breaker counts the copies of the current minute. The domain is as stored: lower case, A-labels.
   */
  admit(accountId: string, domain: string, copies: number): Promise<BreakerRefusal | undefined>
  /**
   * For sandbox sends: reads the state and counts nothing. `retryAfterSeconds` is set when an email would be refused.
   */
  peek(accountId: string, domain: string): Promise<{ state: SendingState; retryAfterSeconds?: number }>
  /** For display: the current state of each domain, read in one query. */
  states(accountId: string, domains: readonly string[]): Promise<Map<string, SendingState>>
  /** For display: also the counts that decide the next state. */
  rates(accountId: string, domains: readonly string[]): Promise<Map<string, Rates>>
}

/** The counts that a breaker evaluates: those of the last 24 hours, or since its state changed. */
export interface Rates {
  sending: SendingState
  emails: number
  /** Emails whose mailbox does not exist, including those reported later. */
  bounces: number
  complaints: number
}

/** How long a reading is cached: a process sees the changes of another one within this time. */
const CACHED_MS = 1_000
const MAX_DOMAINS = 10_000

/**
 * The circuit breakers of all sending domains. A send is checked before its claim, and the API shows the states.
 * A closed or open breaker costs a busy domain one query a second; a half-open one adds a statement for each send.
 */
interface BreakerParts {
  db: Database
  /** Read at each use: the operator may change them. */
  limits: Pick<OperatorLimits, 'breaker'>
  /** Called when a breaker changes its state. */
  onChange?(state: State): void
}

export function createBreaker(parts: BreakerParts): Breaker {
  const { db, limits } = parts
  const recentState = createReadCache({
    read: (key) => stepInTime(db, readState(parts, ...(key.split(' ') as [string, string]))),
    keepMs: CACHED_MS,
    missingMs: CACHED_MS,
    maxEntries: MAX_DOMAINS,
  })
  // The parts of a key are separated by a space, which neither an id nor a domain contains.
  const stateOf = (accountId: string, domain: string) => recentState(`${accountId} ${domain}`)
  const readingsOf = (accountId: string, domains: readonly string[]) =>
    readStates(db, { accountId, domains, openMinutes: limits.breaker.openMinutes })

  return {
    async admit(accountId, domain, copies) {
      const { state, waitUntilMs } = await stateOf(accountId, domain)
      if (state === 'closed') return undefined
      if (state === 'open') return { state: 'paused', retryAfterSeconds: secondsUntil(waitUntilMs) }
      const refusal = await admitHalfOpen(db, { accountId, domain, openMinutes: limits.breaker.openMinutes }, copies)
      if (!refusal) return undefined
      return {
        state: refusal.state === 'open' ? 'paused' : 'throttled',
        retryAfterSeconds: wholeSeconds(refusal.waitSeconds),
      }
    },

    async peek(accountId, domain) {
      const reading = await stateOf(accountId, domain)
      const state = sendingState(reading, limits)
      // A half-open breaker refuses only while the current minute is used up; otherwise `waitUntilMs` is over.
      const isRefused = reading.state === 'open' || reading.waitUntilMs > performance.now()
      return isRefused ? { state, retryAfterSeconds: secondsUntil(reading.waitUntilMs) } : { state }
    },

    async states(accountId, domains) {
      const readings = await readingsOf(accountId, domains)
      return new Map(readings.map((reading) => [reading.domain, sendingState(reading, limits)]))
    },

    async rates(accountId, domains) {
      const readings = await readingsOf(accountId, domains)
      return new Map(readings.map((reading) => [reading.domain, ratesOf(reading, limits)]))
    },
  }
}

/** Reads the state, after the transition that is due. `waitUntilMs` is on the clock of `performance.now()`. */
async function readState({ db, limits, onChange }: BreakerParts, accountId: string, domain: string) {
  const { openMinutes } = limits.breaker
  const read = async () => one(await readStates(db, { accountId, domains: [domain], openMinutes }))
  const reading = await read()
  const transition = transitionOf(reading, limits.breaker)
  if (transition) await changeState(db, { accountId, domain }, reading, transition)
  if (transition) onChange?.(transition.state)
  const current = transition ? await read() : reading
  return { ...current, waitUntilMs: performance.now() + current.waitSeconds * 1_000 }
}

/** The public state of a reading. A transition that is due counts, even if it is not stored yet. */
function sendingState(reading: BreakerReading, { breaker }: BreakerParts['limits']): SendingState {
  const state = transitionOf(reading, breaker)?.state ?? reading.state
  if (state === 'closed') return isNearOpening(reading, breaker) ? 'throttled' : 'active'
  return state === 'open' ? 'paused' : 'throttled'
}

function ratesOf(reading: BreakerReading, limits: BreakerParts['limits']): Rates {
  const { copies: emails, bounces, complaints } = reading
  return { sending: sendingState(reading, limits), emails, bounces, complaints }
}

function secondsUntil(timeMs: number): number {
  return wholeSeconds((timeMs - performance.now()) / 1_000)
}

function wholeSeconds(seconds: number): number {
  return Math.max(1, Math.ceil(seconds))
}
