import { getServers } from 'node:dns'
import { getDomain } from 'tldts'
import { aliasIn, type DnsRecord, type DnsResponse, type RecordType } from '../../mail/dns/dns-message.ts'
import { type DnsServer, queryDns } from '../../mail/dns/dns-query.ts'
import { createResolver, parseServer, RCODES } from '../../mail/dns/resolver.ts'
import type { Guard } from '../../net/guard.ts'

/** The DNS records at a name. `aliases` are the names that CNAMEs led to, in their order. */
export type DomainAnswer =
  /**
   * Values in the text form of a zone file: a TXT record is its strings, joined, each octet a character; names are in
   * lower case without the last dot.
   */
  | { kind: 'records'; values: string[]; aliases: string[] }
  /** The servers say that there is no such record. `circular`: the aliases never end. */
  | { kind: 'missing'; aliases: string[]; circular: boolean }
  /** SERVFAIL, REFUSED or silence, which prove nothing about the record. */
  | { kind: 'unanswered'; cause: string }

export interface DnsParts {
  /** `ip` or `ip:port` of resolvers, as in DNS_SERVERS; the system's resolvers when absent. */
  servers?: readonly string[]
  /** Whether the servers of a domain, which its owner names, may be asked. */
  mayDial: Guard
  /** The port of the domains' servers. */
  port?: number
  /** The timeout of one query to one server, and of all queries of one check together. */
  queryMs?: number
  totalMs?: number
}

/** The answer to one query, without following an alias. */
type SingleAnswer =
  | { kind: 'records'; values: string[] }
  | { kind: 'alias'; to: string }
  | { kind: 'missing' }
  | { kind: 'unanswered'; cause: string }

interface Authority {
  zone: string
  servers: DnsServer[]
}

const QUERY_MS = 1_000
const TOTAL_MS = 5_000
const MAX_ALIASES = 8
/** The most labels between a domain and its registered one that are looked up: each may be its own zone. */
const MAX_ZONES = 8
const MAX_NAME_SERVERS = 4
/** The most authoritative servers that are queried. Silent ones cost `queryMs` each, before the resolver is queried. */
const MAX_SERVERS = 2
const RESOLVER_QUERIES = 2

/** A name that DNS can have. SPF macros and servers may yield any text as a name; a name with escapes is none. */
const NAME = /^(?=.{1,253}$)[!-\-/-[\]-~]{1,63}(\.[!-\-/-[\]-~]{1,63})*$/

/**
 * DNS for the checks of domains, without a cache: a new record counts at once. It queries the domain's authoritative
 * servers, and the resolver for names of other zones or when those servers do not respond. Only the addresses of
 * servers, which many domains share, are cached.
 */
export function createDns({ servers, mayDial, port = 53, queryMs = QUERY_MS, totalMs = TOTAL_MS }: DnsParts) {
  const configured = (servers ?? getServers()).map(parseServer)
  const resolvers = Array.from({ length: RESOLVER_QUERIES }, (_, i) => configured[i % configured.length]).filter(
    (server) => server !== undefined,
  )
  const addresses = createResolver({ servers, queryTimeoutMs: queryMs })

  /** The addresses of the servers with these names. */
  async function serversNamed(names: readonly string[]): Promise<DnsServer[]> {
    const answers = await Promise.all([
      ...names.map((name) => addresses.a(name)),
      ...names.map((name) => addresses.aaaa(name)),
    ])
    // One address of each server: two addresses of one server would often be silent together.
    const dialable = answers.flatMap((answer) =>
      answer.kind === 'records' ? answer.records.filter(mayDial).slice(0, 1) : [],
    )
    return dialable.slice(0, MAX_SERVERS).map((address) => ({ address, port }))
  }

  return (domain: string, signal?: AbortSignal) =>
    new DomainDns(domain, { resolvers, serversNamed, queryMs, endMs: performance.now() + totalMs, signal })
}

interface CheckParts {
  resolvers: readonly DnsServer[]
  serversNamed(names: readonly string[]): Promise<DnsServer[]>
  queryMs: number
  /** The deadline of all queries, on the clock of `performance.now()`. */
  endMs: number
  signal?: AbortSignal
}

/**
 * The current DNS of one domain, for one check of it: each query is made once, and none to an authoritative server that
 * was silent.
 */
export class DomainDns {
  readonly #domain: string
  readonly #parts: CheckParts
  readonly #silent = new Set<DnsServer>()
  readonly #answers = new Map<string, Promise<SingleAnswer>>()
  #authority: Promise<Authority | undefined> | undefined

  constructor(domain: string, parts: CheckParts) {
    this.#domain = domain
    this.#parts = parts
  }

  async #queryServer(server: DnsServer, name: string, type: RecordType, isAuthority: boolean): Promise<SingleAnswer> {
    if (!NAME.test(name)) return { kind: 'missing' }
    const { queryMs, endMs, signal } = this.#parts
    const leftMs = Math.floor(Math.min(queryMs, endMs - performance.now()))
    if (leftMs <= 0 || signal?.aborted) return { kind: 'unanswered', cause: 'no time was left for a query' }
    const response = await queryDns(server, name, type, leftMs, { recursion: !isAuthority })
    if (!('failure' in response)) return answerIn(response, name, type, isAuthority)
    if (isAuthority) this.#silent.add(server)
    return { kind: 'unanswered', cause: response.failure }
  }

  async #queryResolver(name: string, type: RecordType): Promise<SingleAnswer> {
    let answer: SingleAnswer = { kind: 'unanswered', cause: 'no DNS server is configured' }
    for (const server of this.#parts.resolvers) {
      answer = await this.#queryServer(server, name, type, false)
      if (answer.kind !== 'unanswered') return answer
    }
    return answer
  }

  /** Returns undefined for a name in another zone, and when no server with authority answers. */
  async #queryAuthority(name: string, type: RecordType): Promise<SingleAnswer | undefined> {
    this.#authority ??= this.#findAuthority()
    const { zone, servers = [] } = (await this.#authority) ?? {}
    if (name !== zone && !name.endsWith(`.${zone}`)) return undefined
    for (const server of servers.filter((each) => !this.#silent.has(each))) {
      const answer = await this.#queryServer(server, name, type, true)
      if (answer.kind !== 'unanswered') return answer
    }
    return undefined
  }

  /** The smallest zone that contains the domain, and the addresses of its servers. */
  async #findAuthority(): Promise<Authority | undefined> {
    const cuts = await Promise.all(
      zonesOf(this.#domain).map(async (zone) => [zone, await this.#queryResolver(zone, 'NS')] as const),
    )
    for (const [zone, answer] of cuts) {
      if (answer.kind !== 'records') continue
      return { zone, servers: await this.#parts.serversNamed(answer.values.slice(0, MAX_NAME_SERVERS)) }
    }
    return undefined
  }

  #query(name: string, type: RecordType): Promise<SingleAnswer> {
    const key = `${type} ${name}`
    const answer =
      this.#answers.get(key) ??
      this.#queryAuthority(name, type).then((answer) => answer ?? this.#queryResolver(name, type))
    this.#answers.set(key, answer)
    return answer
  }

  async find(name: string, type: RecordType): Promise<DomainAnswer> {
    const path = [normalise(name)]
    for (let at = normalise(name); ; ) {
      const aliases = path.slice(1)
      const answer = await this.#query(at, type)
      if (answer.kind === 'unanswered') return answer
      if (answer.kind === 'records') return { ...answer, aliases }
      const circular = answer.kind === 'alias' && (path.includes(answer.to) || path.length > MAX_ALIASES)
      if (answer.kind === 'missing' || circular) return { kind: 'missing', aliases, circular }
      at = answer.to
      path.push(at)
    }
  }

  /** The zone that contains the domain, when its servers are known. */
  async zone(): Promise<string | undefined> {
    return (await this.#authority)?.zone
  }
}

/** The names of the zones that can contain the domain, the longest first. */
function zonesOf(domain: string): string[] {
  const registered = getDomain(domain, { allowPrivateDomains: true }) ?? domain
  const labels = domain.split('.')
  const above = labels.length - registered.split('.').length
  return labels.slice(0, Math.min(above + 1, MAX_ZONES)).map((_, i) => labels.slice(i).join('.'))
}

function answerIn(response: DnsResponse, name: string, type: RecordType, isAuthority: boolean): SingleAnswer {
  const { rcode, isAuthoritative, offersRecursion, answers } = response
  if (rcode !== 0 && rcode !== 3) return { kind: 'unanswered', cause: RCODES[rcode] ?? `RCODE ${rcode}` }
  // A server without authority over the name has at best an old answer; a resolver that offers no recursion has none.
  if (!isAuthoritative && (isAuthority || !offersRecursion)) return { kind: 'unanswered', cause: 'not in charge' }
  const owned = answers.filter((record) => record.name === name)
  const values = owned.flatMap((record) => (record.type === type ? [textOf(record)] : []))
  if (values.length > 0) return { kind: 'records', values }
  const alias = aliasIn(owned)
  return alias ? { kind: 'alias', to: alias.target } : { kind: 'missing' }
}

function textOf(record: DnsRecord): string {
  switch (record.type) {
    case 'TXT':
      return record.text
    case 'MX':
      return `${record.preference} ${record.exchange}`
    case 'A':
    case 'AAAA':
      return record.address
    case 'TLSA':
      return `${record.usage} ${record.selector} ${record.matching} ${record.data}`
    default:
      return record.target
  }
}

const normalise = (name: string) => name.toLowerCase().replace(/\.$/, '')
