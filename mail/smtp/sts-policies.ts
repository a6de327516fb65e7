import { type BoundedMap, createBoundedMap } from '../../net/bounded-map.ts'
import { FairSlots, fourFifths, type SlotRequest } from '../../net/fair-slots.ts'
import type { Resolver } from '../dns/resolver.ts'
import { type Policy, parsePolicy, policyIdOf } from './mta-sts.ts'

/** `isUnchecked`: there may be a newer one, which could not be read. Then it refuses nothing for good (RFC 8461 5). */
export type FoundPolicy = Policy & { isUnchecked?: true }

/** `no_slot`: no slot for the look-up became free in time. The policy is unknown, which differs from no policy. */
export type PolicyOf = (domain: string, request?: SlotRequest) => Promise<FoundPolicy | 'no_slot' | undefined>

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
  const policies = new StsPolicies(options)
  return (domain, request) => policies.policyOf(domain, request)
}

class StsPolicies {
  readonly #options: StsPoliciesOptions
  readonly #now: () => number
  readonly #stored: BoundedMap<StoredPolicy>
  readonly #failedUntilMs: BoundedMap<number>
  readonly #slots = new FairSlots({ slots: FETCH_SLOTS, perAccount: fourFifths(FETCH_SLOTS) })
  readonly #fetching = new Map<string, Promise<Policy | undefined>>()

  constructor(options: StsPoliciesOptions) {
    const { now = () => performance.now(), max = MAX_DOMAINS } = options
    this.#options = options
    this.#now = now
    this.#stored = createBoundedMap<StoredPolicy>({
      maxEntries: max,
      maxCharacters: MAX_CHARACTERS,
      charactersOf: ({ policy }) => policy.mx.join(' ').length,
    })
    this.#failedUntilMs = createBoundedMap<number>({ maxEntries: max })
  }

  async policyOf(domain: string, request?: SlotRequest): Promise<FoundPolicy | 'no_slot' | undefined> {
    if ((this.#failedUntilMs.get(domain) ?? 0) > this.#now()) return this.#uncheckedOf(domain)
    const startedMs = this.#now()
    const answer = await this.#options.resolver.txt(`_mta-sts.${domain}`, request)
    const live = this.#liveOf(domain)
    if (answer.kind === 'failure') {
      if (answer.noSlot) return this.#uncheckedOf(domain) ?? 'no_slot'
      this.#noteFailure(domain, live && answer.cause)
      return this.#uncheckedOf(domain)
    }
    const id = answer.kind === 'records' ? policyIdOf(answer.records) : undefined
    // A missing record does not end a policy: removing the record is what an attacker would try first.
    if (live && (id === undefined || id === live.id)) {
      if (this.#now() >= live.renewMs) void this.#fetchOnce(domain, live.id, LOOK_UP_MS, request)
      return live.policy
    }
    const leftMs = LOOK_UP_MS - (this.#now() - startedMs)
    const policy = id === undefined ? undefined : await this.#fetchOnce(domain, id, leftMs, request)
    return policy === undefined || policy === 'no_slot' ? (this.#uncheckedOf(domain) ?? policy) : policy
  }

  /** Concurrent calls for a domain share one fetch. `timeoutMs` does not include the wait for a slot. */
  async #fetchOnce(domain: string, id: string, timeoutMs: number, request?: SlotRequest) {
    const inFlight = this.#fetching.get(domain)
    if (inFlight) return inFlight
    const release = this.#slots.tryAcquire(request?.accountId) ?? (await this.#slots.acquire(request))
    if (!release) return 'no_slot'
    const fetched =
      this.#fetching.get(domain) ??
      this.#fetchPolicy(domain, id, timeoutMs).finally(() => this.#fetching.delete(domain))
    this.#fetching.set(domain, fetched)
    return fetched.finally(release)
  }

  async #fetchPolicy(domain: string, id: string, timeoutMs: number): Promise<Policy | undefined> {
    const signal = AbortSignal.timeout(Math.max(0, Math.ceil(timeoutMs)))
    const result = await this.#options.httpsGet(`mta-sts.${domain}`, PATH, signal)
    const policy = result.kind === 'got' ? parsePolicy(result.text) : undefined
    if (policy) this.#keep(domain, policy, id)
    else this.#noteFailure(domain, result.kind === 'got' ? 'its text is no policy' : result.cause)
    return policy
  }

  #keep(domain: string, policy: Policy, id: string): void {
    const nowMs = this.#now()
    const ageMs = policy.maxAgeS * 1_000
    this.#stored.set(domain, { policy, id, expiresMs: nowMs + ageMs, renewMs: nowMs + Math.min(DAY_MS, ageMs / 2) })
  }

  #liveOf(domain: string): StoredPolicy | undefined {
    const policy = this.#stored.get(domain)
    return policy && policy.expiresMs > this.#now() ? policy : undefined
  }

  #uncheckedOf(domain: string): FoundPolicy | undefined {
    const live = this.#liveOf(domain)
    return live && { ...live.policy, isUnchecked: true }
  }

  /** A domain with mode `none` is about to end its policy, so its failures are not reported (RFC 8461 3.3). */
  #noteFailure(domain: string, cause?: string): void {
    this.#failedUntilMs.set(domain, this.#now() + FAILURE_MS)
    if (cause !== undefined && this.#stored.get(domain)?.policy.mode !== 'none')
      this.#options.onTrouble?.(domain, cause)
  }
}
