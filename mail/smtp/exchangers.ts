import { isIP, isIPv4, isIPv6 } from 'node:net'
import type { SlotRequest } from '../../net/fair-slots.ts'
import { shuffle } from '../../net/shuffle.ts'
import type { Answer, Exchange, Resolver } from '../dns/resolver.ts'
import type { Host, MxLookup, Site, SkippedHost } from './attempt.ts'
import { type DaneFinding, daneKey, type SecureHost } from './dane.ts'
import { MAX_HOSTS } from './next-hosts.ts'

export interface ExchangerOptions {
  resolver: Resolver
  /** The egress guard: whether an address may be dialled. */
  mayDial(address: string): boolean
  /** What DANE demands of an exchanger; without it no host is asked about. */
  daneOf?(host: SecureHost, request?: SlotRequest): Promise<DaneFinding>
  smtpPort: number
  /** 0 to 1, as `Math.random`. */
  random(): number
}

export interface HostAddresses {
  addresses: string[]
  /** Why the addresses of one family, or of both, could not be looked up. */
  failure?: string
  /** All of them are secure. */
  secure?: true
  /** The name that owns them, where the exchanger's name is an alias of it. */
  canonicalName?: string
}

/** The exchangers of a domain. */
export interface Exchangers {
  exchanges: readonly Exchange[]
  /** The detail when none of them has an address. */
  withoutAddress: string
  /** The names of the next hop (see `SecureHost`), where the answer that named the exchangers is secure. */
  nextHop?: readonly string[]
  /** The MTA-STS policy of the domain. It has no say over an exchanger with usable TLSA records. */
  policy?: {
    permits(name: string): boolean
    /** As in `FoundPolicy`: whether it refuses an exchanger is not known. */
    isUnchecked?: true
    /** The detail when it permits none, or not all where it is unchecked. */
    withoutPermission: string
  }
}

/** Most sends need one exchanger. The others are looked up when neither of the first two has taken the message. */
const FIRST = 2
const MAX_LOOK_UPS = 8
const ADDRESSES_PER_FAMILY = 4

/** RFC 6761 6.3: no DNS server needs to know it. */
const LOCALHOST = ['127.0.0.1', '::1']

interface Candidate {
  host: Host
  /** It has addresses that may not be dialled. */
  isRefused: boolean
  failure?: string
  dane: DaneFinding
  isPermitted: boolean
}

const NONE: DaneFinding = { kind: 'none' }

/** Looks up the addresses of mail exchangers and chooses the hosts of a site. */
export async function siteOf(
  options: ExchangerOptions,
  found: Exchangers,
  request: SlotRequest | undefined,
): Promise<MxLookup> {
  const order = byPreference(found.exchanges, options.random).slice(0, MAX_LOOK_UPS)
  const candidatesOf = (exchanges: readonly Exchange[], asker = request) =>
    Promise.all(exchanges.map((exchange) => candidateOf(options, exchange, found, asker)))
  const rest = order.slice(FIRST)
  const candidates = await candidatesOf(order.slice(0, FIRST))
  const isEnough = candidates.filter(mayBeTried).length === FIRST
  if (!isEnough) candidates.push(...(await candidatesOf(rest)))
  const hosts = hostsAmong(candidates).slice(0, MAX_HOSTS)
  const further: Site['further'] = async (asker) => {
    const more = await candidatesOf(rest, asker)
    return { hosts: hostsAmong(more).slice(0, MAX_HOSTS - FIRST), skipped: more.flatMap(skippedHost) }
  }
  const skipped = candidates.flatMap(skippedHost)
  const ours = skipped.find(({ isOurs }) => isOurs)
  if (hosts.length === 0 && ours) return { kind: 'our_fault', cause: ours.detail }
  if (hosts.length === 0 && skipped.length === 0) return withoutHosts(candidates, found)
  const name = siteKey(found.exchanges, options.smtpPort)
  const demands = daneKey(candidates.map(({ host, dane }) => ({ name: host.name, finding: dane })))
  const site = { key: name + demands, hosts, ...(demands && { name }) }
  const more = { ...(skipped.length > 0 && { skipped }), ...(isEnough && rest.length > 0 && { further }) }
  return { kind: 'site', site: { ...site, ...more } }
}

function withoutHosts(candidates: readonly Candidate[], { policy, withoutAddress }: Exchangers): MxLookup {
  if (policy && !policy.isUnchecked && candidates.some(({ isPermitted }) => !isPermitted))
    return { kind: 'no_permitted_mx', detail: policy.withoutPermission }
  const refused = candidates.find(({ isRefused }) => isRefused)
  if (refused) return { kind: 'invalid_address', detail: `${refused.host.name} is no public mail exchanger` }
  return { kind: 'no_mx_record', detail: withoutAddress }
}

async function candidateOf(
  { resolver, mayDial, daneOf, smtpPort, random }: ExchangerOptions,
  { name, preference }: Exchange,
  { nextHop, policy }: Exchangers,
  request?: SlotRequest,
): Promise<Candidate> {
  const host = (addresses: string[]) => ({ name, preference, addresses, port: smtpPort })
  if (isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0)
    return { host: host([]), isRefused: true, dane: NONE, isPermitted: true }
  const { addresses, failure, secure, canonicalName } = await addressesOf(resolver, name, request)
  const allowed = addresses.filter(mayDial)
  const isAsked = daneOf && nextHop && secure && allowed.length > 0
  const dane = isAsked ? await daneOf({ name, canonicalName, nextHop }, request) : NONE
  const demand = dane.kind === 'policy' ? dane.policy : undefined
  const isPermitted = (demand?.records.length ?? 0) > 0 || (policy?.permits(name) ?? true)
  const isUnknown = policy?.isUnchecked && !isPermitted && allowed.length > 0
  return {
    host: { ...host(dialOrder(allowed, random)), ...(demand && { dane: demand }) },
    isRefused: allowed.length < addresses.length,
    failure: failure ?? (isUnknown ? policy.withoutPermission : undefined),
    dane,
    isPermitted,
  }
}

export async function addressesOf(resolver: Resolver, name: string, request?: SlotRequest): Promise<HostAddresses> {
  if (name === 'localhost') return { addresses: LOCALHOST }
  if (isIP(name) !== 0) return { addresses: [name] }
  const answers: Answer<string>[] = await Promise.all([resolver.a(name, request), resolver.aaaa(name, request)])
  const addresses = answers.flatMap((answer) => (answer.kind === 'records' ? answer.records : []))
  const found = answers.filter((answer) => answer.kind === 'records')
  const [first] = found
  const isSecure = first !== undefined && found.every(({ secure }) => secure)
  // A zone that is broken for one family of addresses is the domain's fault, and the other family is all there is.
  const failed = answers.filter((answer) => answer.kind === 'failure')
  const ours = failed.filter(({ isServfail }) => !isServfail || found.length === 0)
  return {
    addresses,
    failure: ours[0]?.cause,
    ...(isSecure && { secure: true, canonicalName: first.canonicalName }),
  }
}

function siteKey(exchanges: readonly Exchange[], smtpPort: number): string {
  const names = new Set(exchanges.map(({ name }) => name))
  return `${[...names].sort().join(',')}:${smtpPort}`
}

/** Each exchanger once, by preference; equal ones in random order (RFC 5321 5.1). */
function byPreference(exchanges: readonly Exchange[], random: () => number): Exchange[] {
  const first = new Map<string, Exchange>()
  for (const exchange of exchanges) if (!first.has(exchange.name)) first.set(exchange.name, exchange)
  return shuffle([...first.values()], random).sort((a, b) => a.preference - b.preference)
}

/** Both families in turn, IPv4 first: receivers know senders by it, and an SPF record usually names it. */
export function dialOrder(addresses: string[], random: () => number): string[] {
  const v4 = shuffle(addresses.filter(isIPv4), random)
  const v6 = shuffle(addresses.filter(isIPv6), random)
  const turns = Array.from({ length: ADDRESSES_PER_FAMILY }, (_, i) => [v4[i], v6[i]])
  return turns.flat().filter((address) => address !== undefined)
}

const mayBeTried = ({ host, dane, isPermitted }: Candidate) =>
  host.addresses.length > 0 && dane.kind !== 'unknown' && isPermitted

const hostsAmong = (candidates: readonly Candidate[]): Host[] => candidates.filter(mayBeTried).map(({ host }) => host)

function skippedHost(candidate: Candidate): SkippedHost[] {
  const { host, failure, dane } = candidate
  if (failure !== undefined) return [{ mx: host.name, detail: failure, isOurs: true, isPart: mayBeTried(candidate) }]
  return dane.kind === 'unknown' ? [{ mx: host.name, detail: dane.cause, isOurs: dane.isOurs }] : []
}
