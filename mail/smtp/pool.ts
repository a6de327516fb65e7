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
export class Pool {
  readonly #idleMs: number
  readonly #openPlaces: OpenSitePlaces
  // A site that brings its own limits is not shared with other machines.
  readonly #openLocally = createLocalPlaces()
  readonly #sites = new Map<string, SiteConnections>()
  #isClosed = false

  constructor({ idleMs, openPlaces = createLocalPlaces() }: PoolOptions) {
    this.#idleMs = idleMs
    this.#openPlaces = openPlaces
  }

  /** Waits for a place, and until one more message may go. */
  async acquire(site: SiteOfAddress, request: SlotRequest): Promise<Place | NoPlace> {
    if (request.signal?.aborted) return LEFT
    if (this.#isClosed) return DRAINING
    const connections = this.#sites.get(site.key) ?? this.#addSite(site)
    followLimits(connections, site)
    const { slots, places } = connections
    const releaseSlot = slots.tryAcquire(request.accountId) ?? (await waitForSlot(connections, request))
    if (!releaseSlot) {
      dropUnused(connections)
      if (this.#isClosed) return DRAINING
      return request.signal?.aborted ? LEFT : BUSY
    }
    const mayMail = places.mayMail(request)
    if (mayMail === true || (await mayMail)) return takePlace(connections, releaseSlot, true)
    releaseSlot()
    dropUnused(connections)
    return request.signal?.aborted ? LEFT : PACED
  }

  #addSite(site: SiteOfAddress): SiteConnections {
    const openPlaces = site.isPrivate ? this.#openLocally : this.#openPlaces
    const forget = () => this.#sites.delete(site.key)
    const connections = createSiteConnections(site, { openPlaces, idleMs: this.#idleMs, forget })
    this.#sites.set(site.key, connections)
    return connections
  }

  /** A place to open a connection ahead. Returns undefined when none is free, or when an idle session would serve. */
  trySpare(site: SiteOfAddress, accountId?: string): Place | undefined {
    return this.#sites.get(site.key)?.idle.length === 0 ? this.tryAcquire(site, accountId) : undefined
  }

  /** A place that is free at this moment. When none is, the site learns how many more could be used. */
  tryAcquire({ key }: SiteOfAddress, accountId?: string, couldUse = 0): Place | undefined {
    const connections = this.#sites.get(key)
    if (this.#isClosed || !connections) return
    const releaseSlot = connections.slots.tryAcquire(accountId)
    if (releaseSlot) return takePlace(connections, releaseSlot, false)
    if (couldUse > 0) sayNeed(connections, couldUse)
  }

  close(): void {
    this.#isClosed = true
    for (const connections of this.#sites.values()) closeConnections(connections)
  }

  load(): { inUse: number; waiting: number; idle: number } {
    const total = { inUse: 0, waiting: 0, idle: 0 }
    for (const { slots, idle } of this.#sites.values()) {
      const { inUse, waiting } = slots.load()
      total.inUse += inUse
      total.waiting += waiting
      total.idle += idle.length
    }
    return total
  }
}

function waitForSlot(connections: SiteConnections, request: SlotRequest): Promise<Release | undefined> {
  const waiting = connections.slots.acquire(request)
  sayNeed(connections)
  return waiting
}
