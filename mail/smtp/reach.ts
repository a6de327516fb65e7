import ipaddr from 'ipaddr.js'
import { createBoundedMap } from '../../net/bounded-map.ts'

/**
 * The networks over which servers show something: that they can be reached, that they greet, or what follows. While
 * none shows it, its lack says nothing about one server.
 */
export type Reach = ReturnType<typeof createReach>

interface Way {
  ip: string
  sourceAddress?: string
}

interface UnreachedSite {
  site: string
  atMs: number
}

/** This many sites do not fail at the same time by chance. */
const SITES = 5
const WITHIN_MS = 60_000

/** Where the way leads. What runs on this machine or in its own network says nothing about the world. */
function networkKeyOf({ ip, sourceAddress = '' }: Way): string {
  const address = ipaddr.process(ip)
  return `${sourceAddress} ${address.kind()} ${address.range()}`
}

/** What servers show one after the other. */
export const SHOWN_BY_SERVERS = ['connection', 'greeting', 'tls', 'certificate'] as const

export type Shown = Record<(typeof SHOWN_BY_SERVERS)[number], Reach>

export const createShown = (): Shown => ({
  connection: createReach(),
  greeting: createReach(),
  tls: createReach(),
  certificate: createReach(),
})

export function createReach() {
  /** The sites that lacked it since a server last showed it. */
  const unreached = createBoundedMap<UnreachedSite[]>({
    maxEntries: 1_000,
    charactersOf: (sites) => sites.reduce((sum, { site }) => sum + site.length, 0),
  })
  return {
    /** Whether all servers lack it on a way that this machine needs. It need not have IPv6. */
    isLacking: () =>
      [...unreached.keys()].some((key) => !key.startsWith(' ipv6') && (unreached.get(key)?.length ?? 0) >= SITES),
    connected: (way: Way) => unreached.delete(networkKeyOf(way)),
    /** Notes that a server of the site lacks it. Returns whether all lack it on this way. */
    isCutOff(site: string, way: Way): boolean {
      const key = networkKeyOf(way)
      const before = unreached.get(key) ?? []
      if (before.length >= SITES) return true
      const nowMs = performance.now()
      const others = before.filter((each) => each.site !== site && nowMs - each.atMs < WITHIN_MS)
      unreached.set(key, [...others, { site, atMs: nowMs }])
      return others.length + 1 >= SITES
    },
  }
}
