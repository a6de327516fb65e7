import { isIP, isIPv4, isIPv6 } from 'node:net'
import type { SlotRequest } from '../../net/fair-slots.ts'
import type { Answer, Exchange, Resolver } from '../dns/resolver.ts'
import type { Host, MxLookup } from './attempt.ts'

export interface ExchangerOptions {
  resolver: Resolver
  /** The egress guard: whether an address may be dialled. */
  mayDial(address: string): boolean
  smtpPort: number
  /** 0 to 1, as `Math.random`. */
  random(): number
}

export interface HostAddresses {
  addresses: string[]
  /** Why the addresses of one family, or of both, could not be looked up. */
  failure?: string
}

const MAX_HOSTS = 2
/** The most exchangers that are looked up to find two that can be dialled: the first two, then the rest at once. */
const MAX_LOOK_UPS = 8
const ADDRESSES_PER_FAMILY = 2

/** RFC 6761 6.3: no DNS server needs to know it. */
const LOCALHOST = ['127.0.0.1', '::1']

interface Candidate {
  host: Host
  /** It has addresses that may not be dialled. */
  isRefused: boolean
  failure?: string
}

/** Looks up the addresses of mail exchangers and chooses the hosts of a site. */
export function createExchangers({ resolver, mayDial, smtpPort, random }: ExchangerOptions) {
  /** The site of these exchangers; `withoutAddress` is the detail when none of them has an address. */
  async function siteOf(exchanges: Exchange[], withoutAddress: string, request?: SlotRequest): Promise<MxLookup> {
    const order = byPreference(exchanges).slice(0, MAX_LOOK_UPS)
    const candidates: Candidate[] = []
    let hosts: Host[] = []
    for (const batch of [order.slice(0, MAX_HOSTS), order.slice(MAX_HOSTS)]) {
      if (hosts.length < MAX_HOSTS)
        candidates.push(...(await Promise.all(batch.map((exchange) => candidateOf(exchange, request)))))
      hosts = candidates.map(({ host }) => host).filter(({ addresses }) => addresses.length > 0)
    }
    if (hosts.length > 0) return { kind: 'site', site: { key: siteKey(exchanges), hosts: hosts.slice(0, MAX_HOSTS) } }
    const unknown = candidates.find(({ failure }) => failure !== undefined)
    if (unknown) return { kind: 'our_fault', cause: unknown.failure! }
    const refused = candidates.find(({ isRefused }) => isRefused)
    if (refused) return { kind: 'invalid_address', detail: `${refused.host.name} is no public mail exchanger` }
    return { kind: 'no_mx_record', detail: withoutAddress }
  }

  async function candidateOf({ name, preference }: Exchange, request?: SlotRequest): Promise<Candidate> {
    const host = (addresses: string[]) => ({ name, preference, addresses, port: smtpPort })
    if (isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0) return { host: host([]), isRefused: true }
    const { addresses, failure } = await addressesOf(name, request)
    const allowed = addresses.filter(mayDial)
    return { host: host(dialOrder(allowed)), isRefused: allowed.length < addresses.length, failure }
  }

  async function addressesOf(name: string, request?: SlotRequest): Promise<HostAddresses> {
    if (name === 'localhost') return { addresses: LOCALHOST }
    const answers: Answer<string>[] = await Promise.all([resolver.a(name, request), resolver.aaaa(name, request)])
    const addresses = answers.flatMap((answer) => (answer.kind === 'records' ? answer.records : []))
    return { addresses, failure: answers.find((answer) => answer.kind === 'failure')?.cause }
  }

  function siteKey(exchanges: Exchange[]): string {
    const names = new Set(exchanges.map(({ name }) => name))
    return `${[...names].sort().join(',')}:${smtpPort}`
  }

  /** Each exchanger once, by preference; equal ones in random order (RFC 5321 5.1). */
  function byPreference(exchanges: Exchange[]): Exchange[] {
    const first = new Map<string, Exchange>()
    for (const exchange of exchanges) if (!first.has(exchange.name)) first.set(exchange.name, exchange)
    return shuffle([...first.values()]).sort((a, b) => a.preference - b.preference)
  }

  /** Both families in turn, IPv4 first: receivers know senders by it, and an SPF record usually names it. */
  function dialOrder(addresses: string[]): string[] {
    const v4 = shuffle(addresses.filter(isIPv4))
    const v6 = shuffle(addresses.filter(isIPv6))
    const turns = Array.from({ length: ADDRESSES_PER_FAMILY }, (_, i) => [v4[i], v6[i]])
    return turns.flat().filter((address) => address !== undefined)
  }

  function shuffle<T>(items: T[]): T[] {
    const diced = items.map((item) => ({ item, dice: random() }))
    return diced.sort((a, b) => a.dice - b.dice).map(({ item }) => item)
  }

  return { siteOf, addressesOf, dialOrder }
}
