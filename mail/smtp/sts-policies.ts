import { createBoundedMap } from '../../net/bounded-map.ts'
import { createFairSlots, fourFifths, type SlotRequest } from '../../net/fair-slots.ts'
import type { Resolver } from '../dns/resolver.ts'
import { type Policy, parsePolicy, policyIdOf } from './mta-sts.ts'

/** `no_slot`: no slot for the look-up became free in time. The policy is unknown, which differs from no policy. */
export type PolicyOf = (domain: string, request?: SlotRequest) => Promise<Policy | 'no_slot' | undefined>

export interface StsPoliciesOptions {
  resolver: Pick<Resolver, 'txt'>
  /**
   * GET over HTTPS as RFC 8461 3.3 demands it: the certificate names the host, status 200, text/plain, no redirects.
   * Never rejects.
   */
  httpsGet(host: string, path: string, signal: AbortSignal): Promise<FetchResult>
  /**
   * Called when an announced policy could not be fetched, or a valid one could not be renewed; at most once in five
   * minutes for a domain.
   */
  onTrouble?: (domain: string, cause: string) => void
  /** Milliseconds on any steady clock. */
  now?: () => number
  /** The most domains whose policy is stored. */
  max?: number
}

type FetchResult = { kind: 'got'; text: string } | { kind: 'failed'; cause: string }

interface StoredPolicy {
  policy: Policy
  /** The id of the TXT record that announced the policy. */
  id: string
  expiresMs: number
  /**
   * When it is fetched again, whatever the TXT record says. An attacker must suppress that until the policy expires.
   */
  renewMs: number
}

const PATH = '/.well-known/mta-sts.txt'
const DAY_MS = 86_400_000
/** For TXT and HTTPS together: a send waits for it, once in five minutes. */
const LOOK_UP_MS = 3_000
const FAILURE_MS = 300_000
const MAX_DOMAINS = 10_000
/** More than 10,000 usual policies have. A policy can have 25,000. */
const MAX_CHARACTERS = 32 * 2 ** 20
/** The most concurrent fetches; each one has a connection. */
const FETCH_SLOTS = 100

/**
 * The MTA-STS policy that is valid for a domain (RFC 8461 5.1), or undefined. A TXT record announces it, a new id
 * makes us fetch it over HTTPS, and it stays valid for its max_age even if neither can be reached. Never rejects.
 */
export function createStsPolicies(options: StsPoliciesOptions): PolicyOf {
  const { resolver, httpsGet, onTrouble, now = () => performance.now(), max = MAX_DOMAINS } = options
  const stored = createBoundedMap<StoredPolicy>({
    maxEntries: max,
    maxCharacters: MAX_CHARACTERS,
    charactersOf: ({ policy }) => policy.mx.join(' ').length,
  })
  const failedUntilMs = createBoundedMap<number>({ maxEntries: max })
  const slots = createFairSlots({ slots: FETCH_SLOTS, perAccount: fourFifths(FETCH_SLOTS) })
  const fetching = new Map<string, Promise<Policy | undefined>>()

  return async function policyOf(domain, request) {
    if (hasFailed(domain)) return liveOf(domain)?.policy
    const startedMs = now()
    const answer = await resolver.txt(`_mta-sts.${domain}`, request)
    const live = liveOf(domain)
    if (answer.kind === 'failure') {
      if (answer.noSlot) return live?.policy ?? 'no_slot'
      noteFailure(domain, live && answer.cause)
      return live?.policy
    }
    const id = answer.kind === 'records' ? policyIdOf(answer.records) : undefined
    // A missing record does not end a policy: removing the record is what an attacker would try first.
    if (live && (id === undefined || id === live.id)) {
      if (now() >= live.renewMs) void fetchOnce(domain, live.id, LOOK_UP_MS, request)
      return live.policy
    }
    const policy = id === undefined ? undefined : await fetchOnce(domain, id, LOOK_UP_MS - (now() - startedMs), request)
    return policy === 'no_slot' ? (live?.policy ?? policy) : (policy ?? live?.policy)
  }

  /** Concurrent calls for a domain share one fetch. `timeoutMs` does not include the wait for a slot. */
  async function fetchOnce(domain: string, id: string, timeoutMs: number, request?: SlotRequest) {
    const inFlight = fetching.get(domain)
    if (inFlight) return inFlight
    const release = slots.tryAcquire(request?.accountId) ?? (await slots.acquire(request))
    if (!release) return 'no_slot'
    const fetched = fetching.get(domain) ?? fetchPolicy(domain, id, timeoutMs).finally(() => fetching.delete(domain))
    fetching.set(domain, fetched)
    return fetched.finally(release)
  }

  async function fetchPolicy(domain: string, id: string, timeoutMs: number): Promise<Policy | undefined> {
    const result = await httpsGet(`mta-sts.${domain}`, PATH, AbortSignal.timeout(Math.max(0, Math.ceil(timeoutMs))))
    const policy = result.kind === 'got' ? parsePolicy(result.text) : undefined
    if (policy) keep(domain, policy, id)
    else noteFailure(domain, result.kind === 'got' ? 'its text is no policy' : result.cause)
    return policy
  }

  function keep(domain: string, policy: Policy, id: string): void {
    const ageMs = policy.maxAgeS * 1_000
    stored.set(domain, { policy, id, expiresMs: now() + ageMs, renewMs: now() + Math.min(DAY_MS, ageMs / 2) })
  }

  function liveOf(domain: string): StoredPolicy | undefined {
    const policy = stored.get(domain)
    return policy && policy.expiresMs > now() ? policy : undefined
  }

  function hasFailed(domain: string): boolean {
    return (failedUntilMs.get(domain) ?? 0) > now()
  }

  /** A domain with mode `none` is about to end its policy, so its failures are not reported (RFC 8461 3.3). */
  function noteFailure(domain: string, cause?: string): void {
    failedUntilMs.set(domain, now() + FAILURE_MS)
    if (cause !== undefined && stored.get(domain)?.policy.mode !== 'none') onTrouble?.(domain, cause)
  }
}
