import { isIP, isIPv4, isIPv6 } from 'node:net'
import { type Answer, BUSY, type Exchange, type Patience, type Resolver } from '../dns/resolver.ts'
import type { Host, Lookup } from './attempt.ts'
import { permits } from './mta-sts.ts'
import type { PolicyOf } from './sts-policies.ts'
import { demandTls } from './tls.ts'

/** Where the mail of a domain goes, whatever DNS says: the operator's word, so neither MX nor address is checked. */
export interface Route {
  /** A name or an IP address. */
  host: string
  port: number
}

export interface MxOptions {
  resolver: Resolver
  /** The egress guard: whether an address may be dialled. */
  mayDial(address: string): boolean
  smtpPort: number
  /** By domain, lower case. */
  routes: ReadonlyMap<string, Route>
  /** The MTA-STS policy of a domain; asked for no domain with a route. Absent: there is none. Never rejects. */
  policyOf?: PolicyOf
  /** 0 to 1, as `Math.random`. */
  random(): number
}

const HOSTS = 2
/** How many exchangers of a domain are looked at to find two that can be dialled: the first two, then the rest at once. */
const HOSTS_LOOKED_AT = 8
const ADDRESSES_PER_FAMILY = 2

/** RFC 6761 6.3; no DNS server needs to know it. */
const LOCALHOST = ['127.0.0.1', '::1']

interface Candidate {
  host: Host
  /** It has addresses that may not be dialled. */
  refused: boolean
  failure?: string
}

/** Finds the exchangers of a domain (RFC 5321 5.1, null MX by RFC 7505), at most two, in the order to be tried. */
export function createMxLookUp({ resolver, mayDial, smtpPort, routes, policyOf, random }: MxOptions) {
  return async function lookUp(domain: string, patience?: Patience): Promise<Lookup> {
    const name = domain.toLowerCase().replace(/\.$/, '')
    const route = routes.get(name)
    if (route) return routed(route, patience)
    // Asked side by side, and waited for only when there are exchangers to be judged.
    const policy = policyOf?.(name, patience)
    const answer = await resolver.mx(name, patience)
    switch (answer.kind) {
      case 'failure':
        return { kind: 'our_fault', cause: answer.cause }
      case 'nxdomain':
        return { kind: 'no_mx_record', detail: `${name} does not exist (NXDOMAIN)` }
      case 'nodata':
        return permitted([{ name, preference: 0 }], `${name} has neither MX nor A nor AAAA records`)
      case 'records': {
        const named = answer.records.filter((exchange) => exchange.name !== '')
        if (named.length === 0) return { kind: 'invalid_address', detail: `${name} accepts no mail (null MX)` }
        return permitted(named, `none of the mail exchangers of ${name} has an address`)
      }
    }

    /** Of the exchangers those that the policy permits, if it is to be enforced (RFC 8461 4.1). */
    async function permitted(exchanges: Exchange[], nothing: string): Promise<Lookup> {
      const held = await policy
      if (held === 'not_asked') return { kind: 'our_fault', cause: `DNS TXT _mta-sts.${name}: ${BUSY}` }
      if (held?.mode !== 'enforce') return exchangersOf(exchanges, nothing, patience)
      const some = exchanges.filter((exchange) => permits(held, exchange.name))
      const names = exchanges.slice(0, HOSTS).map((exchange) => exchange.name)
      const all = `the MTA-STS policy of ${name} permits none of its mail exchangers (${names.join(', ')})`
      if (some.length === 0) return { kind: 'no_permitted_mx', detail: all }
      const without = `no mail exchanger that the MTA-STS policy of ${name} permits has an address`
      const found = await exchangersOf(some, without, patience)
      return found.kind === 'site' ? { kind: 'site', site: demandTls(found.site, 'MTA-STS') } : found
    }
  }

  async function exchangersOf(exchanges: Exchange[], nothing: string, patience?: Patience): Promise<Lookup> {
    const order = inOrder(exchanges).slice(0, HOSTS_LOOKED_AT)
    const seen: Candidate[] = []
    let hosts: Host[] = []
    for (const batch of [order.slice(0, HOSTS), order.slice(HOSTS)]) {
      if (hosts.length < HOSTS)
        seen.push(...(await Promise.all(batch.map((exchange) => candidate(exchange, patience)))))
      hosts = seen.map(({ host }) => host).filter(({ addresses }) => addresses.length > 0)
    }
    if (hosts.length > 0) return { kind: 'site', site: { key: siteKey(exchanges), hosts: hosts.slice(0, HOSTS) } }
    const failed = seen.find(({ failure }) => failure !== undefined)
    if (failed) return { kind: 'our_fault', cause: failed.failure! }
    const refused = seen.find((candidate) => candidate.refused)
    if (refused) return { kind: 'invalid_address', detail: `${refused.host.name} is no public mail exchanger` }
    return { kind: 'no_mx_record', detail: nothing }
  }

  async function candidate({ name, preference }: Exchange, patience?: Patience): Promise<Candidate> {
    const host = (addresses: string[]) => ({ name, preference, addresses, port: smtpPort })
    if (isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0) return { host: host([]), refused: true }
    const { addresses, failure } = await addressesOf(name, patience)
    const allowed = addresses.filter(mayDial)
    return { host: host(pick(allowed)), refused: allowed.length < addresses.length, failure }
  }

  async function addressesOf(name: string, patience?: Patience): Promise<{ addresses: string[]; failure?: string }> {
    if (name === 'localhost') return { addresses: LOCALHOST }
    const answers: Answer<string>[] = await Promise.all([resolver.a(name, patience), resolver.aaaa(name, patience)])
    const addresses = answers.flatMap((answer) => (answer.kind === 'records' ? answer.records : []))
    return { addresses, failure: answers.find((answer) => answer.kind === 'failure')?.cause }
  }

  async function routed({ host: name, port }: Route, patience?: Patience): Promise<Lookup> {
    const { addresses, failure } = isIP(name) === 0 ? await addressesOf(name, patience) : { addresses: [name] }
    if (addresses.length === 0)
      return { kind: 'our_fault', cause: failure ?? `the route's host ${name} has no address` }
    const host = { name, preference: 0, addresses: pick(addresses), port }
    return { kind: 'site', site: { key: `${name}:${port}`, hosts: [host] } }
  }

  function siteKey(exchanges: Exchange[]): string {
    const names = new Set(exchanges.map(({ name }) => name))
    return `${[...names].sort().join(',')}:${smtpPort}`
  }

  /** Each exchanger once, by preference, in random order where it is equal (RFC 5321 5.1). */
  function inOrder(exchanges: Exchange[]): Exchange[] {
    const best = new Map<string, Exchange>()
    for (const exchange of exchanges) if (!best.has(exchange.name)) best.set(exchange.name, exchange)
    return shuffle([...best.values()]).sort((a, b) => a.preference - b.preference)
  }

  /** Both families in turn, IPv4 first: it is what senders are known by, and what an SPF record usually names. */
  function pick(addresses: string[]): string[] {
    const v4 = shuffle(addresses.filter(isIPv4))
    const v6 = shuffle(addresses.filter(isIPv6))
    const turns = Array.from({ length: ADDRESSES_PER_FAMILY }, (_, i) => [v4[i], v6[i]])
    return turns.flat().filter((address) => address !== undefined)
  }

  function shuffle<T>(items: T[]): T[] {
    const diced = items.map((item) => ({ item, dice: random() }))
    return diced.sort((a, b) => a.dice - b.dice).map(({ item }) => item)
  }
}
