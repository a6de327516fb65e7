import { createBoundedMap } from '../../net/bounded-map.ts'
import { accepted, type SitePace, slowed, succeeded } from './site-pace.ts'
import type { OpenSitePlaces, SiteLoad } from './site-places.ts'

/** Slowed sites that are remembered. */
const MAX_PACES = 10_000

/** The places of sites for a process that shares its addresses with no other. It keeps no limit a minute. */
export function createLocalPlaces(): OpenSitePlaces {
  /** A site stays slowed after its last connection has closed. */
  const paces = createBoundedMap<SitePace>({ maxEntries: MAX_PACES })

  return ({ key, limits }, onChange) => {
    let load: SiteLoad = { open: 0, accepted: 0, wanted: 0 }

    function set(before: SitePace | undefined, after: SitePace | undefined): void {
      if (after === before) return
      if (after) paces.set(key, after)
      else paces.delete(key)
      onChange()
    }

    function slow(beganAtMs: number, mailed?: number): void {
      const pace = paces.get(key)
      set(pace, slowed(pace, { open: load.accepted, beganAtMs, nowMs: performance.now(), mailed }))
    }

    return {
      count: () => Math.min(limits.connections, paces.get(key)?.places ?? limits.connections),
      need(next) {
        load = next
        const pace = paces.get(key)
        if (pace) set(pace, accepted(pace, load.accepted))
      },
      refused: ({ beganAtMs }) => slow(beganAtMs),
      refusedRate: ({ beganAtMs }) => slow(beganAtMs, 0),
      succeeded() {
        const pace = paces.get(key)
        if (pace) set(pace, succeeded(pace, { connections: limits.connections }, performance.now()))
      },
      mayMail: () => true,
      leave() {},
    }
  }
}
