import { getServers } from 'node:dns'
import { getDomain } from 'tldts'
import { aliasIn, type DnsRecord, type DnsResponse, type RecordType } from '../dns/message.ts'
import { type DnsServer, queryDns } from '../dns/query.ts'
import { createResolver, parseServer, RCODES } from '../dns/resolver.ts'
import type { Guard } from '../egress/guard.ts'

/** What DNS has at a name. `aliases` are the names that CNAMEs have led to, in their order. */
export type Found =
  /** In the text form of a zone file, a TXT record with its strings joined, an octet a character; names in lower case, no last dot. */
  | { kind: 'records'; values: string[]; aliases: string[] }
  /** Its servers say that there is no such record. `circular`: the aliases never end. */
  | { kind: 'missing'; aliases: string[]; circular: boolean }
  /** SERVFAIL, REFUSED, silence: says nothing about the record. */
  | { kind: 'unanswered'; cause: string }

/** DNS as the owner of one domain has it now, for one check of it. */
export interface DomainDns {
  find(name: string, type: RecordType): Promise<Found>
  /** The zone the domain is in, when its servers are known. */
  zone(): Promise<string | undefined>
}

export interface DnsParts {
  /** `ip` or `ip:port` of resolvers, as DNS_SERVERS has them; the system's when left out. */
  servers?: readonly string[]
  /** Whether the servers of a domain, which its owner names, may be asked. */
  mayDial: Guard
  /** Where the servers of domains listen. */
  port?: number
  /** The longest that one server is waited for, and that all questions of one check take together. */
  tryMs?: number
  totalMs?: number
}

/** What one question about one name gives: an alias is not followed yet. */
type One =
  | { kind: 'records'; values: string[] }
  | { kind: 'alias'; to: string }
  | { kind: 'missing' }
  | { kind: 'unanswered'; cause: string }

interface Authority {
  zone: string
  servers: DnsServer[]
}

const TRY_MS = 1_000
const TOTAL_MS = 5_000
const MAX_ALIASES = 8
/** Of the labels between a domain and its registered one: each may be a zone of its own. */
const MAX_ZONES = 8
const MAX_NAME_SERVERS = 4
/** Silent ones cost `tryMs` each, and after them the resolver still has to be asked. */
const MAX_ASKED = 2
const RESOLVER_TRIES = 2

/** A name that can be asked for: macros of SPF, and the names that servers tell, can be any. One with escapes is none. */
const NAME = /^(?=.{1,253}$)[!-\-/-[\]-~]{1,63}(\.[!-\-/-[\]-~]{1,63})*$/

/**
 * Asks the servers in charge of a domain themselves, so that neither the memory of a resolver nor its lies count, and the resolver about
 * all other names, and when those servers cannot be asked. Nothing is remembered from one check to the next but the addresses of
 * servers, which many domains share.
 */
export function createDns({ servers, mayDial, port = 53, tryMs = TRY_MS, totalMs = TOTAL_MS }: DnsParts) {
  const configured = (servers ?? getServers()).map(parseServer)
  const resolvers = Array.from({ length: RESOLVER_TRIES }, (_, i) => configured[i % configured.length]).filter(
    (server) => server !== undefined,
  )

  const addresses = createResolver({ servers, tryTimeoutMs: tryMs })

  return function dnsOf(domain: string, signal?: AbortSignal): DomainDns {
    const endMs = performance.now() + totalMs
    const silent = new Set<DnsServer>()
    const asked = new Map<string, Promise<One>>()
    let authority: Promise<Authority | undefined> | undefined

    async function question(server: DnsServer, name: string, type: RecordType, isAuthority: boolean): Promise<One> {
      if (!NAME.test(name)) return { kind: 'missing' }
      const leftMs = Math.floor(Math.min(tryMs, endMs - performance.now()))
      if (leftMs <= 0 || signal?.aborted) return { kind: 'unanswered', cause: 'no time was left to ask' }
      const response = await queryDns(server, name, type, leftMs, { recursion: !isAuthority })
      if (!('failure' in response)) return read(response, name, type, isAuthority)
      if (isAuthority) silent.add(server)
      return { kind: 'unanswered', cause: response.failure }
    }

    async function askResolver(name: string, type: RecordType): Promise<One> {
      let answer: One = { kind: 'unanswered', cause: 'no DNS server is configured' }
      for (const server of resolvers) {
        answer = await question(server, name, type, false)
        if (answer.kind !== 'unanswered') return answer
      }
      return answer
    }

    async function askAuthority(name: string, type: RecordType): Promise<One | undefined> {
      authority ??= findAuthority()
      const { zone, servers = [] } = (await authority) ?? {}
      if (name !== zone && !name.endsWith(`.${zone}`)) return undefined
      for (const server of servers.filter((each) => !silent.has(each))) {
        const answer = await question(server, name, type, true)
        if (answer.kind !== 'unanswered') return answer
      }
      return undefined
    }

    /** The zone that is cut off nearest to the domain, and the addresses of its servers that may be asked. */
    async function findAuthority(): Promise<Authority | undefined> {
      const cuts = await Promise.all(
        zonesOf(domain).map(async (zone) => [zone, await askResolver(zone, 'NS')] as const),
      )
      for (const [zone, found] of cuts) {
        if (found.kind !== 'records') continue
        const names = found.values.slice(0, MAX_NAME_SERVERS)
        const known = await Promise.all([
          ...names.map((name) => addresses.a(name)),
          ...names.map((name) => addresses.aaaa(name)),
        ])
        // One address of each server first: two of the same one would often be silent together.
        const usable = known.flatMap((answer) =>
          answer.kind === 'records' ? answer.records.filter(mayDial).slice(0, 1) : [],
        )
        return { zone, servers: usable.slice(0, MAX_ASKED).map((address) => ({ address, port })) }
      }
      return undefined
    }

    function ask(name: string, type: RecordType): Promise<One> {
      const key = `${type} ${name}`
      const asking = asked.get(key) ?? askAuthority(name, type).then((answer) => answer ?? askResolver(name, type))
      asked.set(key, asking)
      return asking
    }

    async function find(name: string, type: RecordType): Promise<Found> {
      const path = [plain(name)]
      for (;;) {
        const at = path.at(-1)!
        const aliases = path.slice(1)
        const answer = await ask(at, type)
        if (answer.kind === 'unanswered') return answer
        if (answer.kind === 'records') return { ...answer, aliases }
        const circular = answer.kind === 'alias' && (path.includes(answer.to) || path.length > MAX_ALIASES)
        if (answer.kind === 'missing' || circular) return { kind: 'missing', aliases, circular }
        path.push(answer.to)
      }
    }

    return { find, zone: async () => (await authority)?.zone }
  }
}

/** The names at which a zone with the domain in it can begin, the longest first. */
function zonesOf(domain: string): string[] {
  const registered = getDomain(domain, { allowPrivateDomains: true }) ?? domain
  const labels = domain.split('.')
  const above = labels.length - registered.split('.').length
  return labels.slice(0, Math.min(above + 1, MAX_ZONES)).map((_, i) => labels.slice(i).join('.'))
}

function read(response: DnsResponse, name: string, type: RecordType, isAuthority: boolean): One {
  const { rcode, isAuthoritative, offersRecursion, answers } = response
  if (rcode !== 0 && rcode !== 3) return { kind: 'unanswered', cause: RCODES[rcode] ?? `RCODE ${rcode}` }
  // A server that is not in charge of the name has at best an old answer; a resolver that looks nothing up has none.
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
    default:
      return record.target
  }
}

const plain = (name: string) => name.toLowerCase().replace(/\.$/, '')
