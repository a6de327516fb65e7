import { createFairSlots, type FairSlots, fourFifths, type Release, type SlotRequest } from '../../net/fair-slots.ts'
import { createLocalPlaces } from './local-places.ts'
import { type Session, takesMore } from './session.ts'
import type { OpenSitePlaces, SiteOfAddress, SitePlaces, SiteRefusal } from './site-places.ts'

/** A slot for one connection to a site, with a session to reuse if one was idle. */
export interface ConnectionSlot {
  kind: 'slot'
  session?: Session
  /** The site has accepted a connection for this slot. */
  opened(): void
  /** The site has refused a connection because of the number of connections, and gets fewer from now on. */
  refused(refusal: SiteRefusal): void
  /** The site has refused a message because of the rate of messages, and gets fewer from now on. */
  refusedRate(refusal: SiteRefusal): void
  /** A message was delivered over this slot. */
  succeeded(): void
  /** Resolves to true when the next message may go over this slot, and to false at the wait limit. */
  mayMail(request: SlotRequest): Promise<boolean> | true
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

/** The connections to one site: those in use hold a slot, the others are idle or closing. */
interface SiteConnections {
  site: SiteOfAddress
  places: SitePlaces
  slots: FairSlots
  /** The last one used is reused first, so that the others may end. There are never more of them than free slots. */
  idle: Session[]
  /** The connections that the site has accepted: in use and idle. */
  accepted: number
  /** Connections that were idle and have not closed yet: their places are not free. */
  closing: number
}

const LEFT: NoSlot = { kind: 'none', cause: 'the caller left' }
const DRAINING: NoSlot = { kind: 'none', cause: 'draining' }
const BUSY: NoSlot = { kind: 'none', cause: 'no connection to the site became free in time' }
const PACED: NoSlot = { kind: 'none', cause: 'the site gets no more messages a minute' }

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

  async function acquire(site: SiteOfAddress, request: SlotRequest): Promise<ConnectionSlot | NoSlot> {
    if (request.signal?.aborted) return LEFT
    if (isClosed) return DRAINING
    const connections = siteFor(site)
    const { slots, places } = connections
    const releaseSlot = slots.tryAcquire(request.accountId) ?? (await waitForSlot(connections, request))
    if (!releaseSlot) {
      dropUnused(connections)
      if (isClosed) return DRAINING
      return request.signal?.aborted ? LEFT : BUSY
    }
    const mayMail = places.mayMail(request)
    if (mayMail === true || (await mayMail)) return connectionSlot(connections, releaseSlot, true)
    releaseSlot()
    dropUnused(connections)
    return request.signal?.aborted ? LEFT : PACED
  }

  function waitForSlot(connections: SiteConnections, request: SlotRequest): Promise<Release | undefined> {
    const waiting = connections.slots.acquire(request)
    report(connections)
    return waiting
  }

  /** The connections of the site, with its current limits and places. */
  function siteFor(site: SiteOfAddress): SiteConnections {
    const connections = sites.get(site.key) ?? addSite(site)
    if (connections.site.limits !== site.limits) {
      connections.site = site
      connections.places = placesFor(connections)
    }
    resize(connections)
    return connections
  }

  /** A slot to open a connection ahead. Returns undefined when none is free, or when an idle session would serve. */
  function trySpare(site: SiteOfAddress, accountId?: string): ConnectionSlot | undefined {
    return sites.get(site.key)?.idle.length === 0 ? tryAcquire(site, accountId) : undefined
  }

  /** A slot that is free at this moment. When none is, the site's places learn how many more could be used. */
  function tryAcquire({ key }: SiteOfAddress, accountId?: string, couldUse = 0): ConnectionSlot | undefined {
    const connections = sites.get(key)
    if (isClosed || !connections) return
    const releaseSlot = connections.slots.tryAcquire(accountId)
    if (releaseSlot) return connectionSlot(connections, releaseSlot, false)
    if (couldUse > 0) report(connections, couldUse)
  }

  function addSite(site: SiteOfAddress): SiteConnections {
    const connections = {
      site,
      slots: createFairSlots({ slots: 0 }),
      idle: [],
      accepted: 0,
      closing: 0,
    } as Omit<SiteConnections, 'places'> as SiteConnections
    connections.places = placesFor(connections)
    sites.set(site.key, connections)
    return connections
  }

  function placesFor(connections: SiteConnections): SitePlaces {
    const open = connections.site.isPrivate ? openLocally : openPlaces
    return open(connections.site, () => resize(connections))
  }

  /** @param isPaid the message of this slot has been asked for */
  function connectionSlot(connections: SiteConnections, releaseSlot: Release, isPaid: boolean): ConnectionSlot {
    const { places } = connections
    const session = connections.idle.pop()
    session?.wire.stopWatching()
    let isAccepted = session !== undefined
    const setAccepted = (next: boolean) => {
      connections.accepted += Number(next) - Number(isAccepted)
      isAccepted = next
    }
    report(connections)
    return {
      kind: 'slot',
      session,
      opened() {
        setAccepted(true)
        report(connections)
      },
      refused(refusal) {
        setAccepted(false)
        report(connections)
        places.refused(refusal)
      },
      refusedRate: (refusal) => places.refusedRate(refusal),
      succeeded: () => places.succeeded(),
      mayMail(request) {
        if (!isPaid) return places.mayMail(request)
        isPaid = false
        return true
      },
      release(session) {
        const free = () => {
          setAccepted(false)
          releaseSlot()
          report(connections)
          dropUnused(connections)
        }
        if (!session) return free()
        if (isSpent(connections, session)) return session.wire.quit(free)
        // As many are open as before. Who waits for the slot has not taken the session yet, and reports when it has.
        keepIdle(connections, session)
        releaseSlot()
      },
    }
  }

  /** Says what the site's connections do and could do. */
  function report({ slots, idle, closing, accepted, places }: SiteConnections, couldUse = 0): void {
    const { inUse, waiting } = slots.load()
    const open = inUse + idle.length + closing
    places.need({ open, accepted, wanted: open + waiting + couldUse })
  }

  /** Follows the number of places. What is open beyond it is closed as soon as it is idle. */
  function resize(connections: SiteConnections): void {
    const { slots, idle, places } = connections
    const count = places.count()
    while (idle.length > 0 && slots.load().inUse + idle.length > count) quitIdle(connections, idle[0]!)
    const free = Math.max(0, count - connections.closing)
    if (slots.size() !== free) slots.resize(free, fourFifths(free))
  }

  function isSpent({ slots, idle, site, places }: SiteConnections, session: Session): boolean {
    return isClosed || !takesMore(session, site.limits) || slots.load().inUse + idle.length > places.count()
  }

  function keepIdle(connections: SiteConnections, session: Session): void {
    connections.idle.push(session)
    session.wire.watchIdle(performance.now() + idleMs, () => quitIdle(connections, session))
  }

  function quitIdle(connections: SiteConnections, session: Session): void {
    session.wire.stopWatching()
    connections.idle.splice(connections.idle.indexOf(session), 1)
    connections.accepted--
    connections.closing++
    session.wire.quit(() => {
      connections.closing--
      resize(connections)
      report(connections)
      dropUnused(connections)
    })
    resize(connections)
  }

  function dropUnused({ site: { key }, slots, idle, closing, places }: SiteConnections): void {
    if (idle.length > 0 || closing > 0 || !sites.has(key)) return
    const { inUse, waiting } = slots.load()
    if (inUse > 0 || waiting > 0) return
    sites.delete(key)
    places.leave()
  }

  /** Quits the idle sessions and turns waiting requests away. A session in use quits when its slot is released. */
  function close(): void {
    isClosed = true
    for (const connections of sites.values()) {
      connections.slots.close()
      for (const session of [...connections.idle]) quitIdle(connections, session)
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
