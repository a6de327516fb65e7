import { getServers } from 'node:dns'
import { isIP } from 'node:net'
import { createBoundedMap } from '../../net/bounded-map.ts'
import { FairSlots, fourFifths, type SlotLoad, type SlotRequest } from '../../net/fair-slots.ts'
import type { IsFact } from '../../net/lookup.ts'
import { aliasIn, type DnsRecord, type DnsResponse, type RecordType, type TlsaRecord } from './dns-message.ts'
import { type DnsServer, queryDns } from './dns-query.ts'
import { createKnownDomains } from './known-domains.ts'

export interface Exchange {
  /** As in `DnsRecord`; empty for the root, as in a null MX. */
  name: string
  preference: number
}

/** `secure`: the resolver has validated the answer by DNSSEC. Absent unless `dnssec` is on. */
export type Answer<T> =
  | {
      kind: 'records'
      records: T[]
      ttlS: number
      /** The name that owns the records, where the name that was looked up is an alias of it. */
      canonicalName?: string
      secure?: true
    }
  | { kind: 'nxdomain' }
  /** The name exists and has no record of that type. */
  | { kind: 'nodata'; secure?: true }
  /**
   * SERVFAIL, REFUSED, a timeout or a malformed response: nothing is known about the name. With `noSlot` no slot became
   * free and no server was queried, so nothing is known about the servers either. With `isServfail` the resolver
   * answered SERVFAIL: the zone may be broken, unreachable or forged.
   */
  | { kind: 'failure'; cause: string; noSlot?: true; isServfail?: true }

/**
 * Looks up records, for all of the service. Cached answers need no slot. Every other look-up takes one while it queries
 * servers; `request` names its account and its wait limit. No method rejects.
 */
export interface Resolver {
  mx(name: string, request?: SlotRequest): Promise<Answer<Exchange>>
  a(name: string, request?: SlotRequest): Promise<Answer<string>>
  aaaa(name: string, request?: SlotRequest): Promise<Answer<string>>
  /** The strings of each record, joined; each octet is a character (latin1). */
  txt(name: string, request?: SlotRequest): Promise<Answer<string>>
  /** Without this method all that DNS denies counts as a fact. */
  isFact?: IsFact
}

export interface WatchedResolver extends Resolver {
  tlsa(name: string, request?: SlotRequest): Promise<Answer<TlsaRecord>>
  /** Notes a domain whose MX records an earlier process found: see `isFact`. */
  remember(domain: string): void
  /** The look-ups that query servers, and those that wait for a slot. */
  load(): SlotLoad
}

interface ResolverOptions {
  /**
   * `ip` or `ip:port`. A look-up queries the first, then the second if the first fails. By default the system's
   * resolvers.
   */
  servers?: readonly string[]
  /** Asks the servers to validate, and believes them. They must be on this machine or a network of ours. */
  dnssec?: boolean
  queryTimeoutMs?: number
  /** The most look-ups that query servers at a time; each one has a socket. */
  slots?: number
  /** Called with each answer: the type of the record, where it came from, and its kind. */
  onAnswer?(type: RecordType, source: 'cache' | 'server', result: Answer<unknown>['kind'] | 'no_slot'): void
  /** Milliseconds on any steady clock. */
  now?: () => number
}

export const NO_SLOT = 'no slot for DNS queries became free in time'

type AnyAnswer = Answer<Exchange | string | TlsaRecord>

const QUERY_TIMEOUT_MS = 1_000
const QUERY_SLOTS = 500

/** The longest time that records are cached. */
const MAX_TTL_S = 3_600
/** How long "no such name" and "no such record" are cached (RFC 2308 5), whatever the SOA record says. */
const NEGATIVE_TTL_S = 60
// No domain can fill the memory: a longer answer is truncated to its first records (its most preferred exchangers), and
// an answer with more text is not cached.
const MAX_CACHED_ANSWERS = 10_000
const MAX_RECORDS = 50
const MAX_CACHED_TEXT = 8_192
const MAX_CNAMES = 8

/** A name that can own records: up to 253 characters, labels of 1 to 63 letters, digits, hyphens or underscores. */
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/

/**
 * A resolver that caches by TTL and never caches failures. Node's own resolver does not report the TTL of an MX record,
 * and waits 25 s for a silent server.
 */
export function createResolver(options: ResolverOptions = {}): WatchedResolver {
  const servers = (options.servers ?? getServers()).map(parseServer)
  const { queryTimeoutMs = QUERY_TIMEOUT_MS, now = () => performance.now() } = options
  const { slots: querySlots = QUERY_SLOTS, dnssec = false, onAnswer } = options
  const slots = new FairSlots({ slots: querySlots, perAccount: fourFifths(querySlots) })
  const known = new KnownAnswers(now)
  const domains = createKnownDomains(findAgain)
  const tlsaNames = createKnownDomains(async (name) => (await query('TLSA', name)).kind !== 'failure')

  async function lookUp<T>(type: RecordType, name: string, request?: SlotRequest): Promise<Answer<T>> {
    const host = name.toLowerCase().replace(/\.$/, '')
    if (!HOST_NAME.test(host)) return { kind: 'nxdomain' }
    const key = `${type} ${host}`
    const current = known.find(key)
    if (current && !(current instanceof Promise)) onAnswer?.(type, 'cache', current.kind)
    if (current) return current as Answer<T> | Promise<Answer<T>>
    const release = slots.tryAcquire(request?.accountId) ?? (await slots.acquire(request))
    if (!release) onAnswer?.(type, 'server', 'no_slot')
    if (!release) return { ...failure(host, type, NO_SLOT), noSlot: true }
    // Meanwhile another look-up of the name may have started. Look-ups are shared only after this point: one that still
    // waits in the queue of another account could wait for long.
    const newer = known.find(key)
    if (newer) release()
    return (newer ?? known.share(key, query(type, host).finally(release))) as Promise<Answer<T>>
  }

  async function query(type: RecordType, host: string): Promise<AnyAnswer> {
    const askedMs = performance.now()
    const answer = await queryServers(servers, { name: host, type, timeoutMs: queryTimeoutMs, dnssec })
    onAnswer?.(type, 'server', answer.kind)
    if (type === 'MX' && answer.kind === 'records') domains.noteFound(host, askedMs)
    if (type === 'TLSA' && answer.kind !== 'failure') tlsaNames.noteFound(host, askedMs)
    return answer
  }

  async function findAgain(domain: string): Promise<boolean> {
    return (await query('MX', domain)).kind === 'records'
  }

  /** A resolver that fails for every TLSA record, as some forwarders do, says nothing of one zone. */
  async function tlsa(name: string, request?: SlotRequest): Promise<Answer<TlsaRecord>> {
    const askedMs = performance.now()
    const answer = await lookUp<TlsaRecord>('TLSA', name, request)
    if (answer.kind !== 'failure' || !answer.isServfail) return answer
    if ((await tlsaNames.isFact(name.toLowerCase(), askedMs)) !== false) return answer
    return { kind: 'failure', cause: `${answer.cause}, as for all names of late` }
  }

  async function isFact(domain: string, askedMs: number, ifUnproven = true): Promise<boolean> {
    const isProven = await domains.isFact(domain, askedMs)
    if (isProven === false) known.forgetSince(domains.provenMs(domain))
    return isProven ?? ifUnproven
  }

  return {
    mx: (name, request) => lookUp('MX', name, request),
    a: (name, request) => lookUp('A', name, request),
    aaaa: (name, request) => lookUp('AAAA', name, request),
    txt: (name, request) => lookUp('TXT', name, request),
    tlsa,
    isFact,
    remember: domains.remember,
    load: () => slots.load(),
  }
}

/** The answers that are cached, and those of look-ups in flight. */
class KnownAnswers {
  readonly #now: () => number
  readonly #inFlight = new Map<string, Promise<AnyAnswer>>()
  readonly #cache = createBoundedMap<{ answer: AnyAnswer; askedMs: number; untilMs: number }>({
    maxEntries: MAX_CACHED_ANSWERS,
    charactersOf: ({ answer }) => textLengthOf(answer),
  })

  constructor(now: () => number) {
    this.#now = now
  }

  find(key: string): AnyAnswer | Promise<AnyAnswer> | undefined {
    const hit = this.#cache.get(key)
    return hit && hit.untilMs > this.#now() ? hit.answer : this.#inFlight.get(key)
  }

  /** Lets other look-ups of the key wait for the same answer, and caches it. */
  share(key: string, pending: Promise<AnyAnswer>): Promise<AnyAnswer> {
    const askedMs = performance.now()
    const shared = pending
      .then((answer) => {
        this.#store(key, answer, askedMs)
        return answer
      })
      .finally(() => this.#inFlight.delete(key))
    this.#inFlight.set(key, shared)
    return shared
  }

  /** Forgets the answers to questions that were asked after this time, on the clock of `performance.now()`. */
  forgetSince(askedMs: number): void {
    for (const key of [...this.#cache.keys()]) if (this.#cache.get(key)!.askedMs > askedMs) this.#cache.delete(key)
  }

  #store(key: string, answer: AnyAnswer, askedMs: number): void {
    this.#cache.delete(key)
    const ttlS = answer.kind === 'records' ? answer.ttlS : answer.kind === 'failure' ? 0 : NEGATIVE_TTL_S
    if (ttlS === 0 || textLengthOf(answer) > MAX_CACHED_TEXT) return
    this.#cache.set(key, { answer, askedMs, untilMs: this.#now() + ttlS * 1_000 })
  }
}

interface Query {
  name: string
  type: RecordType
  timeoutMs: number
  dnssec: boolean
}

/** The second query goes to the second server, or to the only one again. */
async function queryServers(
  [first, second = first]: readonly DnsServer[],
  { name, type, timeoutMs, dnssec }: Query,
): Promise<AnyAnswer> {
  let answer: AnyAnswer = failure(name, type, 'no DNS server is configured; set DNS_SERVERS')
  for (const server of [first, second]) {
    if (!server || answer.kind !== 'failure') return answer
    const response = await queryDns(server, name, type, timeoutMs, { dnssec })
    answer = 'failure' in response ? failure(name, type, response.failure) : answerIn(response, name, type, dnssec)
  }
  return answer
}

function failure(name: string, type: RecordType, cause: string) {
  return { kind: 'failure' as const, cause: `DNS ${type} ${name}: ${cause}` }
}

/** RFC 1035 4.1.1: the RCODEs that prove nothing about a name. */
export const RCODES: Record<number, string> = { 1: 'FORMERR', 2: 'SERVFAIL', 4: 'NOTIMP', 5: 'REFUSED' }
const SERVFAIL = 2

function answerIn(
  { rcode, answers, isAuthoritative, offersRecursion, isAuthenticated }: DnsResponse,
  name: string,
  type: RecordType,
  dnssec: boolean,
): AnyAnswer {
  if (rcode === SERVFAIL) return { ...failure(name, type, 'SERVFAIL'), isServfail: true }
  if (rcode !== 0 && rcode !== 3) return failure(name, type, RCODES[rcode] ?? `RCODE ${rcode}`)
  const records = rcode === 0 ? followAliases(answers, name, type) : undefined
  const secure = dnssec && isAuthenticated ? { secure: true as const } : {}
  if (records === 'unclear') return failure(name, type, 'records that do not answer the question')
  if (records) return { ...records, ...secure }
  // A referral, or an alias that may lead elsewhere: the server queries no other one, so it does not know the name.
  const isItsOwn = isAuthoritative && (rcode === 3 || answers.length === 0)
  if (!isItsOwn && !offersRecursion)
    return failure(name, type, 'the server offers no recursion; set DNS_SERVERS to a resolver')
  return rcode === 3 ? { kind: 'nxdomain' } : { kind: 'nodata', ...secure }
}

/**
 * The records of `name`, or of the alias it leads to within the answer (RFC 1034 3.6.2). `unclear`: the aliases do not
 * end, or not within those that we follow, or there are records of other names.
 */
function followAliases(answers: DnsRecord[], name: string, type: RecordType) {
  let owner = name
  let ttlS = MAX_TTL_S
  let followed = 0
  for (let hop = 0; hop <= MAX_CNAMES; hop++) {
    const owned = answers.filter((record) => record.name === owner)
    const records = owned.filter((record) => record.type === type)
    for (const record of records) ttlS = Math.min(ttlS, ttlOf(record))
    if (records.length > 0) {
      const canonical = owner === name ? {} : { canonicalName: owner }
      return { kind: 'records' as const, records: valuesOf(records).slice(0, MAX_RECORDS), ttlS, ...canonical }
    }
    const alias = aliasIn(owned)
    followed += owned.length
    if (!alias) return followed < answers.length ? 'unclear' : undefined
    ttlS = Math.min(ttlS, ttlOf(alias))
    owner = alias.target
  }
  return 'unclear'
}

function valuesOf(records: DnsRecord[]): (Exchange | string | TlsaRecord)[] {
  const exchanges: Exchange[] = []
  const texts: (string | TlsaRecord)[] = []
  for (const record of records) {
    if (record.type === 'MX') exchanges.push({ name: record.exchange, preference: record.preference })
    else if (record.type === 'A' || record.type === 'AAAA') texts.push(record.address)
    else if (record.type === 'TXT') texts.push(record.text)
    else if (record.type === 'TLSA') {
      const { usage, selector, matching, data } = record
      texts.push({ usage, selector, matching, data })
    }
  }
  exchanges.sort((a, b) => a.preference - b.preference || (a.name < b.name ? -1 : 1))
  return exchanges.length > 0 ? exchanges : texts
}

function textLengthOf(answer: AnyAnswer): number {
  if (answer.kind !== 'records') return 0
  return answer.records.reduce((sum, record) => sum + lengthOf(record), 0)
}

function lengthOf(record: Exchange | string | TlsaRecord): number {
  if (typeof record === 'string') return record.length
  return 'data' in record ? record.data.length : record.name.length
}

/** RFC 2181 8: a TTL with its highest bit set counts as zero. */
function ttlOf({ ttlS }: { ttlS: number }): number {
  return ttlS > 0x7fffffff ? 0 : ttlS
}

/**
 * Reads `ip`, `ip:port` or `[ipv6]:port`; the default port is 53. Throws a TypeError on anything else, such as a name
 * or a port above 65,535.
 */
export function parseServer(server: string): DnsServer {
  if (isIP(server) !== 0) return { address: server, port: 53 }
  const [, address = '', digits = ''] = /^\[?([^[\]]+)\]?:(\d{1,5})$/.exec(server) ?? []
  const port = Number(digits)
  if (isIP(address) === 0 || port < 1 || port > 65_535)
    throw new TypeError(`not a DNS server: ${server} (192.0.2.53 or 192.0.2.53:5353)`)
  return { address, port }
}
