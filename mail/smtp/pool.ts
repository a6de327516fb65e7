import { createFairSlots, type FairSlots, fourFifths, type Release, type SlotRequest } from '../../net/fair-slots.ts'
import type { SiteLimits } from './engine-limits.ts'
import type { Session } from './session.ts'

/** A slot for one connection to a site, with a session to reuse if one was idle. */
export interface ConnectionSlot {
  kind: 'slot'
  session?: Session
  /** Frees the slot. Call it once, with the session if another message can reuse it. */
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
}

const LEFT: NoSlot = { kind: 'none', cause: 'the caller left' }
const DRAINING: NoSlot = { kind: 'none', cause: 'draining' }
const BUSY: NoSlot = { kind: 'none', cause: 'no connection to the site became free in time' }

/** Limits the connections to each site and keeps idle sessions for reuse. The engine has one pool. */
export function createPool({ idleMs }: { idleMs: number }) {
  const sites = new Map<string, SiteConnections>()
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
    if (isClosed || !site || site.idle.length > 0) return undefined
    const release = site.slots.tryAcquire(accountId)
    return release && connectionSlot(site, release)
  }

  function addSite({ key, limits }: PooledSite): SiteConnections {
    const { connections } = limits
    const slots = createFairSlots({ slots: connections, perAccount: fourFifths(connections) })
    const site: SiteConnections = { key, limits, slots, idle: [] }
    sites.set(key, site)
    return site
  }

  function connectionSlot(site: SiteConnections, releaseSlot: Release): ConnectionSlot {
    const session = site.idle.pop()
    session?.wire.stopWatching()
    const release = (reusable?: Session) => {
      if (reusable) keepOrQuit(site, reusable)
      releaseSlot()
      dropUnused(site)
    }
    return { kind: 'slot', session, release }
  }

  function keepOrQuit(site: SiteConnections, session: Session): void {
    const isSpent = isClosed || session.messages >= site.limits.messages
    if (isSpent) session.wire.quit()
    else keepIdle(site, session)
  }

  function keepIdle(site: SiteConnections, session: Session): void {
    site.idle.push(session)
    session.wire.watchIdle(performance.now() + idleMs, () => {
      session.wire.quit()
      site.idle.splice(site.idle.indexOf(session), 1)
      dropUnused(site)
    })
  }

  function dropUnused({ key, slots, idle }: SiteConnections): void {
    if (slots.isUnused() && idle.length === 0) sites.delete(key)
  }

  /** Quits the idle sessions and turns waiting requests away. A session in use quits when its slot is released. */
  function close(): void {
    isClosed = true
    for (const site of sites.values()) {
      site.slots.close()
      for (const { wire } of site.idle.splice(0)) {
        wire.stopWatching()
        wire.quit()
      }
      dropUnused(site)
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

  return { acquire, trySpare, load, close }
}
