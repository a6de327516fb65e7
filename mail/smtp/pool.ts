import { createBoundedMap } from '../../net/bounded-map.ts'
import { createFairSlots, type FairSlots, fourFifths, type Release, type SlotRequest } from '../../net/fair-slots.ts'
import type { SiteLimits } from './engine-limits.ts'
import { type Session, takesMore } from './session.ts'
import { accepted, type SitePace, slowed, succeeded } from './site-pace.ts'

/** A slot for one connection to a site, with a session to reuse if one was idle. */
export interface ConnectionSlot {
  kind: 'slot'
  session?: Session
  /** The site has accepted a connection for this slot. */
  opened(): void
  /** The site has refused a connection because of the number of connections, and gets fewer from now on. */
  refused(dialledAtMs: number): void
  /** A message was delivered over this slot. */
  succeeded(): void
  /**
   * Frees the slot. Call it once, with the session that is still open. Another message reuses it unless it is spent:
   * then it quits, and the slot is free once the connection has closed.
   */
  release(session?: Session): void
}

export interface NoSlot {
  kind: 'none'
  cause: string
}

/** A site as seen from one source address. */
export interface PooledSite {
  /** Source address and site. */
  key: string
  limits: SiteLimits
}

/** The connections to one site: those in use hold a slot, the others are idle. */
interface SiteConnections extends PooledSite {
  slots: FairSlots
  /** The last one used is reused first, so that the others may end. There are never more of them than free slots. */
  idle: Session[]
  /** The connections that the site has accepted: in use and idle. */
  open: number
}

const LEFT: NoSlot = { kind: 'none', cause: 'the caller left' }
const DRAINING: NoSlot = { kind: 'none', cause: 'draining' }
const BUSY: NoSlot = { kind: 'none', cause: 'no connection to the site became free in time' }
/** Slowed sites that are remembered. */
const MAX_PACES = 10_000

/** Limits the connections to each site and keeps idle sessions for reuse. The engine has one pool. */
export function createPool({ idleMs }: { idleMs: number }) {
  const sites = new Map<string, SiteConnections>()
  /** A site stays slowed after its last connection has closed. */
  const paces = createBoundedMap<SitePace>({ maxEntries: MAX_PACES })
  let isClosed = false

  async function acquire(pooledSite: PooledSite, request: SlotRequest): Promise<ConnectionSlot | NoSlot> {
    if (request.signal?.aborted) return LEFT
    if (isClosed) return DRAINING
    const site = sites.get(pooledSite.key) ?? addSite(pooledSite)
    const release = site.slots.tryAcquire(request.accountId) ?? (await site.slots.acquire(request))
    if (release) return connectionSlot(site, release)
    if (isClosed) return DRAINING
    return request.signal?.aborted ? LEFT : BUSY
  }

  /** A slot to open a connection ahead. Returns undefined when none is free, or when an idle session would serve. */
  function trySpare({ key }: PooledSite, accountId?: string): ConnectionSlot | undefined {
    const site = sites.get(key)
    return site && site.idle.length === 0 ? tryAcquire({ key, limits: site.limits }, accountId) : undefined
  }

  /** A slot that is free at this moment. */
  function tryAcquire({ key }: PooledSite, accountId?: string): ConnectionSlot | undefined {
    const site = sites.get(key)
    const release = isClosed ? undefined : site?.slots.tryAcquire(accountId)
    return site && release && connectionSlot(site, release)
  }

  function addSite({ key, limits }: PooledSite): SiteConnections {
    const places = placesOf({ key, limits })
    const slots = createFairSlots({ slots: places, perAccount: fourFifths(places) })
    const site: SiteConnections = { key, limits, slots, idle: [], open: 0 }
    sites.set(key, site)
    return site
  }

  function connectionSlot(site: SiteConnections, releaseSlot: Release): ConnectionSlot {
    const session = site.idle.pop()
    session?.wire.stopWatching()
    let isOpen = session !== undefined
    const setOpen = (next: boolean) => {
      site.open += Number(next) - Number(isOpen)
      isOpen = next
    }
    return {
      kind: 'slot',
      session,
      opened() {
        setOpen(true)
        const pace = paces.get(site.key)
        if (pace) setPace(site, accepted(pace, site.open))
      },
      refused(dialledAtMs) {
        setOpen(false)
        const refusal = { open: site.open, dialledAtMs, nowMs: performance.now() }
        setPace(site, slowed(paces.get(site.key), refusal))
      },
      succeeded() {
        const pace = paces.get(site.key)
        if (pace) setPace(site, succeeded(pace, site.limits.connections, performance.now()))
      },
      release(session) {
        const free = () => {
          setOpen(false)
          releaseSlot()
          dropUnused(site)
        }
        if (!session) return free()
        if (isSpent(site, session)) return session.wire.quit(free)
        keepIdle(site, session)
        releaseSlot()
      },
    }
  }

  function setPace(site: SiteConnections, pace: SitePace | undefined): void {
    if (pace === paces.get(site.key)) return
    if (pace) paces.set(site.key, pace)
    else paces.delete(site.key)
    const places = placesOf(site)
    site.slots.resize(places, fourFifths(places))
    while (site.open > places && site.idle.length > 0) quitIdle(site, site.idle[0]!)
  }

  function placesOf({ key, limits: { connections } }: PooledSite): number {
    return Math.min(connections, paces.get(key)?.places ?? connections)
  }

  function isSpent(site: SiteConnections, session: Session): boolean {
    return isClosed || !takesMore(session, site.limits) || site.open > placesOf(site)
  }

  function keepIdle(site: SiteConnections, session: Session): void {
    site.idle.push(session)
    session.wire.watchIdle(performance.now() + idleMs, () => quitIdle(site, session))
  }

  function quitIdle(site: SiteConnections, session: Session): void {
    session.wire.stopWatching()
    session.wire.quit()
    site.idle.splice(site.idle.indexOf(session), 1)
    site.open--
    dropUnused(site)
  }

  function dropUnused({ key, slots, idle }: SiteConnections): void {
    if (slots.isUnused() && idle.length === 0) sites.delete(key)
  }

  /** Quits the idle sessions and turns waiting requests away. A session in use quits when its slot is released. */
  function close(): void {
    isClosed = true
    for (const site of sites.values()) {
      site.slots.close()
      for (const session of [...site.idle]) quitIdle(site, session)
    }
  }

  function load(): { inUse: number; waiting: number; idle: number } {
    const total = { inUse: 0, waiting: 0, idle: 0 }
    for (const { slots, idle } of sites.values()) {
      const { inUse, waiting } = slots.load()
      total.inUse += inUse
      total.waiting += waiting
      total.idle += idle.length
    }
    return total
  }

  return { acquire, tryAcquire, trySpare, load, close }
}
