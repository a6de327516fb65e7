import { FairSlots, fourFifths, type Release, type WaitLimit } from '../../net/fair-slots.ts'
import { type Session, takesMore } from './session.ts'
import type { OpenSitePlaces, SiteOfAddress, SitePlaces, SiteRefusal } from './site-places.ts'

// What happens to a connection: a send takes a place at the site (`takePlace`), with an idle session or with none, and
// then dials (`opened`, `refused`). It gives the place back with the session (`release`), which is idle (`keepIdle`)
// until a send takes it, its time is over, or the site has fewer places (`quitIdle`). The place is free when the
// connection has closed, and the use of the site ends with the last one (`dropUnused`).

/** A place for one connection to a site, with a session to reuse if one was idle. */
export interface Place {
  kind: 'place'
  session?: Session
  /** The site has accepted a connection for this place. */
  opened(): void
  /** The site has refused a connection because of the number of connections, and gets fewer from now on. */
  refused(refusal: SiteRefusal): void
  /** The site has refused a message because of the rate of messages, and gets fewer from now on. */
  refusedRate(refusal: SiteRefusal): void
  /** A message was delivered over this place. */
  succeeded(): void
  /** Resolves to true when the next message may go over this place, and to false at the wait limit. */
  mayMail(limit: WaitLimit): Promise<boolean> | true
  /**
   * Frees the place. Call it once, with the session that is still open. Another message reuses it unless it is spent:
   * then it quits, and the place is free once the connection has closed.
   */
  release(session?: Session): void
}

/** The connections to one site: those in use hold a slot, the others are idle or closing. */
export interface SiteConnections {
  site: SiteOfAddress
  places: SitePlaces
  /** The places that are not idle or closing, shared fairly among accounts. */
  slots: FairSlots
  /** The last one used is reused first, so that the others may end. There are never more of them than free slots. */
  idle: Session[]
  /** The connections that the site has accepted: in use and idle. */
  accepted: number
  /** Connections that were idle and have not closed yet: their places are not free. */
  closing: number
  isClosed: boolean
  idleMs: number
  openPlaces: OpenSitePlaces
  /** Returns false when the site is forgotten already. */
  forget(): boolean
}

type Environment = Pick<SiteConnections, 'idleMs' | 'openPlaces' | 'forget'>

export function createSiteConnections(site: SiteOfAddress, environment: Environment): SiteConnections {
  const places = environment.openPlaces(site, () => resize(connections))
  const unused = { slots: new FairSlots({ slots: 0 }), idle: [], accepted: 0, closing: 0, isClosed: false }
  const connections = { site, places, ...unused, ...environment }
  return connections
}

/** Follows the current limits of the site, and its places. */
export function followLimits(connections: SiteConnections, site: SiteOfAddress): void {
  if (connections.site.limits !== site.limits) {
    connections.site = site
    connections.places = connections.openPlaces(site, () => resize(connections))
  }
  resize(connections)
}

/** @param isPaid the message of this place has been asked for */
export function takePlace(connections: SiteConnections, releaseSlot: Release, isPaid: boolean): Place {
  const { places } = connections
  const session = connections.idle.pop()
  session?.wire.stopWatching()
  let isAccepted = session !== undefined
  const setAccepted = (next: boolean) => {
    connections.accepted += Number(next) - Number(isAccepted)
    isAccepted = next
    sayNeed(connections)
  }
  const free = () => {
    releaseSlot()
    setAccepted(false)
    dropUnused(connections)
  }
  sayNeed(connections)
  return {
    kind: 'place',
    session,
    opened: () => setAccepted(true),
    refused(refusal) {
      setAccepted(false)
      places.refused(refusal)
    },
    refusedRate: (refusal) => places.refusedRate(refusal),
    succeeded: () => places.succeeded(),
    mayMail(limit) {
      if (!isPaid) return places.mayMail(limit)
      isPaid = false
      return true
    },
    release(session) {
      if (!session) free()
      else if (isSpent(connections, session)) session.wire.quit(free)
      else {
        // As many are open as before. Who waits for the slot has not taken the session yet, and reports when it has.
        keepIdle(connections, session)
        releaseSlot()
      }
    },
  }
}

/** Says what the site's connections do and could do. */
export function sayNeed({ slots, idle, closing, accepted, places }: SiteConnections, couldUse = 0): void {
  const { inUse, waiting } = slots.load()
  const open = inUse + idle.length + closing
  places.need({ open, accepted, wanted: open + waiting + couldUse })
}

/** Follows the number of places. What is open beyond it is closed as soon as it is idle. */
function resize(connections: SiteConnections): void {
  const { slots, idle, places } = connections
  for (let [oldest] = idle; oldest && isBeyondPlaces(connections); [oldest] = idle) quitIdle(connections, oldest)
  const free = Math.max(0, places.count() - connections.closing)
  if (slots.size() !== free) slots.resize(free, fourFifths(free))
}

const isBeyondPlaces = ({ slots, idle, places }: SiteConnections) => slots.load().inUse + idle.length > places.count()

function isSpent(connections: SiteConnections, session: Session): boolean {
  return connections.isClosed || !takesMore(session, connections.site.limits) || isBeyondPlaces(connections)
}

function keepIdle(connections: SiteConnections, session: Session): void {
  connections.idle.push(session)
  session.wire.watchIdle(performance.now() + connections.idleMs, () => quitIdle(connections, session))
}

function quitIdle(connections: SiteConnections, session: Session): void {
  session.wire.stopWatching()
  connections.idle.splice(connections.idle.indexOf(session), 1)
  connections.accepted--
  connections.closing++
  session.wire.quit(() => {
    connections.closing--
    resize(connections)
    sayNeed(connections)
    dropUnused(connections)
  })
  resize(connections)
}

export function dropUnused({ slots, idle, closing, places, forget }: SiteConnections): void {
  const { inUse, waiting } = slots.load()
  if (inUse + waiting + idle.length + closing === 0 && forget()) places.leave()
}

/** Quits the idle sessions and turns waiting requests away. A session in use quits when its place is released. */
export function closeConnections(connections: SiteConnections): void {
  connections.isClosed = true
  connections.slots.close()
  for (let [oldest] = connections.idle; oldest; [oldest] = connections.idle) quitIdle(connections, oldest)
}
