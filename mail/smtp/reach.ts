import ipaddr from 'ipaddr.js'
import { createBoundedMap } from '../../net/bounded-map.ts'

/** Which networks this machine reaches. While it reaches nothing, no server counts as unreachable. */
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

export function createReach() {
  /** The sites that were not reached since the last connection. */
  const unreached = createBoundedMap<UnreachedSite[]>({
    maxEntries: 1_000,
    charactersOf: (sites) => sites.reduce((sum, { site }) => sum + site.length, 0),
  })
  return {
    connected: (way: Way) => unreached.delete(networkKeyOf(way)),
    /** Notes that an address of the site was not reached. Returns whether nothing is reached on this way. */
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
