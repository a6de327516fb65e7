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
  /** Its time is not over. */
  isSilentYet: boolean
}

/** This many sites do not fail at the same time by chance. */
const SITES = 5
/** Some of those that are silent may still answer. */
const MOST_SITES = 20
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
  /** Whether the site is now one of enough sites. */
  function note(key: string, site: string, isSilentYet: boolean): boolean {
    const before = unreached.get(key) ?? []
    if (before.length >= MOST_SITES) return true
    const nowMs = performance.now()
    const isKept = ({ atMs }: UnreachedSite) => before.length >= SITES || nowMs - atMs < WITHIN_MS
    const others = before.filter((each) => each.site !== site && isKept(each))
    unreached.set(key, [...others, { site, atMs: nowMs, isSilentYet }])
    return others.length + 1 >= SITES
  }

  /** A machine need not have IPv6. */
  function isClosed(key: string): boolean {
    const sites = unreached.get(key) ?? []
    return !key.startsWith(' ipv6') && sites.length >= SITES && sites.some(({ isSilentYet }) => !isSilentYet)
  }

  return {
    /** Whether all servers lack it on a way that this machine needs. */
    isLacking: () => [...unreached.keys()].some(isClosed),
    connected: (way: Way) => unreached.delete(networkKeyOf(way)),
    /** Counts a site that is silent, before its time is over. Returns what takes that back. */
    noteSilent(site: string, way: Way): () => void {
      const key = networkKeyOf(way)
      if (unreached.get(key)?.some((each) => each.site === site)) return () => {}
      note(key, site, true)
      return () => unreached.set(key, unreached.get(key)?.filter((each) => each.site !== site) ?? [])
    },
    /** Notes that a server of the site lacks it. Returns whether all lack it on this way. */
    isCutOff: (site: string, way: Way): boolean => note(networkKeyOf(way), site, false),
  }
}
