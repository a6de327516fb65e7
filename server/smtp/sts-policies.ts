import type { Patience, Resolver } from '../dns/resolver.ts'
import { createPlaces, ofOneTurn } from '../slots.ts'
import { type Policy, parsePolicy, policyIdOf } from './mta-sts.ts'

/** `not_asked`: nobody was, for want of a place in time, so it is not known whether there is one. */
export type PolicyOf = (domain: string, patience?: Patience) => Promise<Policy | 'not_asked' | undefined>

export interface StsPoliciesOptions {
  resolver: Pick<Resolver, 'txt'>
  /** GET over HTTPS as RFC 8461 3.3 wants it: the certificate names the host, status 200, text/plain, no redirects. Never rejects. */
  httpsGet(host: string, path: string, signal: AbortSignal): Promise<Fetched>
  /** A policy that was announced could not be had, or one that holds not be renewed: told at most each five minutes for a domain. */
  onTrouble?: (domain: string, cause: string) => void
  /** Milliseconds on any steady clock. */
  now?: () => number
  /** Domains of which a policy is kept. */
  max?: number
}

type Fetched = { kind: 'got'; text: string } | { kind: 'failed'; cause: string }

interface Held {
  policy: Policy
  /** Of the TXT record it was fetched for. */
  id: string
  expiresMs: number
  /** When it is fetched anew, whatever the TXT record says: whoever can suppress that must do so until it expires. */
  renewMs: number
}

const PATH = '/.well-known/mta-sts.txt'
const DAY_MS = 86_400_000
/** For TXT and HTTPS together: a send waits for it, once in five minutes. */
const LOOK_MS = 3_000
const FAILURE_MS = 300_000
const MAX_DOMAINS = 10_000
/** At the same time; each has a connection. */
const FETCHES = 100

/**
 * The MTA-STS policy that holds for a domain (RFC 8461 5.1): announced by a TXT record, fetched over HTTPS when its id is new, kept for
 * its max_age although neither may be had any more. Without one: undefined. Never rejects.
 */
export function createStsPolicies(options: StsPoliciesOptions): PolicyOf {
  const { resolver, httpsGet, onTrouble, now = () => performance.now(), max = MAX_DOMAINS } = options
  const held = new Map<string, Held>()
  const failedUntilMs = new Map<string, number>()
  const places = createPlaces({ places: FETCHES, perTurn: ofOneTurn(FETCHES) })
  const fetching = new Map<string, Promise<Policy | undefined>>()

  return async function policyOf(domain, patience) {
    if (hasFailed(domain)) return liveOf(domain)?.policy
    const startedMs = now()
    const answer = await resolver.txt(`_mta-sts.${domain}`, patience)
    const live = liveOf(domain)
    if (answer.kind === 'failure') {
      if (answer.notAsked) return live?.policy ?? 'not_asked'
      noteFailure(domain, live && answer.cause)
      return live?.policy
    }
    const id = answer.kind === 'records' ? policyIdOf(answer.records) : undefined
    // A record that is gone does not end a policy: that is what an attacker would try first.
    if (live && (id === undefined || id === live.id)) {
      if (now() >= live.renewMs) void fetchOnce(domain, live.id, LOOK_MS, patience)
      return live.policy
    }
    const fetched = id === undefined ? undefined : await fetchOnce(domain, id, LOOK_MS - (now() - startedMs), patience)
    return fetched === 'not_asked' ? (live?.policy ?? fetched) : (fetched ?? live?.policy)
  }

  /** Waiting for a place comes before the time of the fetch itself. */
  async function fetchOnce(domain: string, id: string, timeMs: number, { turn = '', ...wait }: Patience = {}) {
    const known = fetching.get(domain)
    if (known) return known
    const free = places.takeNow(turn) ?? (await places.take(turn, wait))
    if (!free) return 'not_asked'
    const flight = fetching.get(domain) ?? fetchPolicy(domain, id, timeMs).finally(() => fetching.delete(domain))
    fetching.set(domain, flight)
    return flight.finally(free)
  }

  async function fetchPolicy(domain: string, id: string, timeMs: number): Promise<Policy | undefined> {
    const fetched = await httpsGet(`mta-sts.${domain}`, PATH, AbortSignal.timeout(Math.max(0, Math.ceil(timeMs))))
    const policy = fetched.kind === 'got' ? parsePolicy(fetched.text) : undefined
    if (policy) keep(domain, policy, id)
    else noteFailure(domain, fetched.kind === 'got' ? 'its text is no policy' : fetched.cause)
    return policy
  }

  function keep(domain: string, policy: Policy, id: string): void {
    const ageMs = policy.maxAgeS * 1_000
    put(held, domain, { policy, id, expiresMs: now() + ageMs, renewMs: now() + Math.min(DAY_MS, ageMs / 2) })
  }

  function liveOf(domain: string): Held | undefined {
    const known = held.get(domain)
    return known && known.expiresMs > now() ? known : undefined
  }

  function hasFailed(domain: string): boolean {
    return (failedUntilMs.get(domain) ?? 0) > now()
  }

  /** Of a domain that is about to lose its policy nobody has to be told (RFC 8461 3.3). */
  function noteFailure(domain: string, cause?: string): void {
    put(failedUntilMs, domain, now() + FAILURE_MS)
    if (cause !== undefined && held.get(domain)?.policy.mode !== 'none') onTrouble?.(domain, cause)
  }

  /** The oldest gives way. */
  function put<T>(map: Map<string, T>, domain: string, value: T): void {
    map.delete(domain)
    if (map.size >= max) map.delete(map.keys().next().value!)
    map.set(domain, value)
  }
}
