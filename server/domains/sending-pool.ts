import { createGuard } from '../../net/guard.ts'
import { type OperatorLimits, tierOf } from '../config/limits.ts'

export type PoolLimits = Pick<OperatorLimits, 'tiers' | 'defaultTier' | 'pools'>

/** The addresses that other servers see mail come from, and the pools that replace them. */
interface Hosts {
  sourceAddresses: readonly string[]
  limits?: PoolLimits
}

/** Which pool a domain sends from: its own, else that of its account's tier. */
export interface BoundDomain {
  pool?: string | null
  /** The tier of its account. */
  tier?: string | null
}

const isPublic = createGuard({ allowSubnets: [] })

/** The name of the pool that a domain sends from; undefined for the addresses of SMTP_SOURCE_ADDRESSES. */
export function poolOf({ pool, tier = null }: BoundDomain, limits: Pick<PoolLimits, 'tiers' | 'defaultTier'>) {
  return pool ?? tierOf(limits, tier).pool
}

/** The hosts for the records of one domain: with the addresses of its pool. */
export function hostsOfDomain<Given extends Hosts>(domain: BoundDomain, hosts: Given): Given {
  const { limits } = hosts
  if (!limits) return hosts
  const name = poolOf(domain, limits)
  const pool = name !== undefined && Object.hasOwn(limits.pools, name) ? limits.pools[name] : undefined
  return pool ? { ...hosts, sourceAddresses: seenAddresses(pool.addresses, hosts.sourceAddresses) } : hosts
}

/** The hosts for a record that serves all domains: with the addresses of all pools. */
export function hostsOfAllDomains<Given extends Hosts>(hosts: Given): Given {
  const pools = Object.values(hosts.limits?.pools ?? {})
  const addresses = pools.flatMap(({ addresses }) => seenAddresses(addresses, hosts.sourceAddresses))
  return { ...hosts, sourceAddresses: [...new Set([...hosts.sourceAddresses, ...addresses])] }
}

/** The addresses that other servers see. A private one is translated to one of `publicAddresses`. */
function seenAddresses(addresses: readonly string[], publicAddresses: readonly string[]): string[] {
  const seen = addresses.filter(isPublic)
  return seen.length === addresses.length ? seen : [...new Set([...seen, ...publicAddresses])]
}
