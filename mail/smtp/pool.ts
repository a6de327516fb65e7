import type { Release, SlotRequest } from '../../net/fair-slots.ts'
import { createLocalPlaces } from './local-places.ts'
import {
  closeConnections,
  createSiteConnections,
  dropUnused,
  followLimits,
  type Place,
  type SiteConnections,
  sayNeed,
  takePlace,
} from './site-connections.ts'
import type { OpenSitePlaces, SiteOfAddress } from './site-places.ts'

interface NoPlace {
  kind: 'none'
  cause: string
}

const LEFT: NoPlace = { kind: 'none', cause: 'the caller left' }
const DRAINING: NoPlace = { kind: 'none', cause: 'draining' }
const BUSY: NoPlace = { kind: 'none', cause: 'no connection to the site became free in time' }
const PACED: NoPlace = { kind: 'none', cause: 'the site gets no more messages a minute' }

interface PoolOptions {
  idleMs: number
  /** By default this process shares its addresses with no other. */
  openPlaces?: OpenSitePlaces
}

/** Limits the connections to each site and keeps idle sessions for reuse. The engine has one pool. */
export function createPool({ idleMs, openPlaces = createLocalPlaces() }: PoolOptions) {
  const sites = new Map<string, SiteConnections>()
  // A site that brings its own limits is not shared with other machines.
  const openLocally = createLocalPlaces()
  let isClosed = false

  /** Waits for a place, and until one more message may go. */
  async function acquire(site: SiteOfAddress, request: SlotRequest): Promise<Place | NoPlace> {
    if (request.signal?.aborted) return LEFT
    if (isClosed) return DRAINING
    const connections = sites.get(site.key) ?? addSite(site)
    followLimits(connections, site)
    const { slots, places } = connections
    const releaseSlot = slots.tryAcquire(request.accountId) ?? (await waitForSlot(connections, request))
    if (!releaseSlot) {
      dropUnused(connections)
      if (isClosed) return DRAINING
      return request.signal?.aborted ? LEFT : BUSY
    }
    const mayMail = places.mayMail(request)
    if (mayMail === true || (await mayMail)) return takePlace(connections, releaseSlot, true)
    releaseSlot()
    dropUnused(connections)
    return request.signal?.aborted ? LEFT : PACED
  }

  function addSite(site: SiteOfAddress): SiteConnections {
    const open = site.isPrivate ? openLocally : openPlaces
    const forget = () => sites.delete(site.key)
    const connections = createSiteConnections(site, { openPlaces: open, idleMs, forget })
    sites.set(site.key, connections)
    return connections
  }

  /** A place to open a connection ahead. Returns undefined when none is free, or when an idle session would serve. */
  function trySpare(site: SiteOfAddress, accountId?: string): Place | undefined {
    return sites.get(site.key)?.idle.length === 0 ? tryAcquire(site, accountId) : undefined
  }

  /** A place that is free at this moment. When none is, the site learns how many more could be used. */
  function tryAcquire({ key }: SiteOfAddress, accountId?: string, couldUse = 0): Place | undefined {
    const connections = sites.get(key)
    if (isClosed || !connections) return
    const releaseSlot = connections.slots.tryAcquire(accountId)
    if (releaseSlot) return takePlace(connections, releaseSlot, false)
    if (couldUse > 0) sayNeed(connections, couldUse)
  }

  function close(): void {
    isClosed = true
    for (const connections of sites.values()) closeConnections(connections)
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

function waitForSlot(connections: SiteConnections, request: SlotRequest): Promise<Release | undefined> {
  const waiting = connections.slots.acquire(request)
  sayNeed(connections)
  return waiting
}
