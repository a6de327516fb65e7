import { createPlaces, ofOneTurn, type Places, type Release } from '../slots.ts'
import type { SiteLimits } from './limits.ts'
import type { Session } from './session.ts'

/** The right to one connection to a site, with a session if one was idle. */
export interface Slot {
  kind: 'slot'
  session?: Session
  /** Returns the right, with the session if it can take another message. */
  free(session?: Session): void
}

export interface NoSlot {
  kind: 'none'
  cause: string
}

/** The connections from one source address to one site: each one in use holds a place, the others are idle. */
interface Shelf {
  key: string
  limits: SiteLimits
  places: Places
  /** The last one used is taken first, so that the others may end. There are never more of them than free places. */
  idle: Session[]
}

interface Place {
  /** Source address and site. */
  key: string
  limits: SiteLimits
}

interface Claim {
  /** Waiting turns are served one after the other. */
  turn: string
  untilMs: number
  signal?: AbortSignal
}

const LEFT: NoSlot = { kind: 'none', cause: 'the caller left' }
const DRAINING: NoSlot = { kind: 'none', cause: 'draining' }
const BUSY: NoSlot = { kind: 'none', cause: 'no connection to the site became free in time' }

/** Keeps idle sessions, and limits the connections to each site. */
export function createPool({ idleMs }: { idleMs: number }) {
  const shelves = new Map<string, Shelf>()
  let isClosed = false

  async function take(place: Place, claim: Claim): Promise<Slot | NoSlot> {
    if (claim.signal?.aborted) return LEFT
    if (isClosed) return DRAINING
    const shelf = shelves.get(place.key) ?? createShelf(place)
    const free = shelf.places.takeNow(claim.turn) ?? (await shelf.places.take(claim.turn, claim))
    if (free) return slotOf(shelf, free)
    if (isClosed) return DRAINING
    return claim.signal?.aborted ? LEFT : BUSY
  }

  function createShelf({ key, limits }: Place): Shelf {
    const { connections } = limits
    const places = createPlaces({ places: connections, perTurn: ofOneTurn(connections) })
    const shelf: Shelf = { key, limits, places, idle: [] }
    shelves.set(key, shelf)
    return shelf
  }

  function slotOf(shelf: Shelf, free: Release): Slot {
    const session = shelf.idle.pop()
    session?.wire.wake()
    const giveBack = (reusable?: Session) => {
      if (reusable) putBack(shelf, reusable)
      free()
      dropUnused(shelf)
    }
    return { kind: 'slot', session, free: giveBack }
  }

  function putBack(shelf: Shelf, session: Session): void {
    const isSpent = isClosed || session.messages >= shelf.limits.messages
    if (isSpent) session.wire.quit()
    else keep(shelf, session)
  }

  function keep(shelf: Shelf, session: Session): void {
    shelf.idle.push(session)
    session.wire.rest(performance.now() + idleMs, () => {
      session.wire.quit()
      shelf.idle.splice(shelf.idle.indexOf(session), 1)
      dropUnused(shelf)
    })
  }

  function dropUnused({ key, places, idle }: Shelf): void {
    if (places.isUnused() && idle.length === 0) shelves.delete(key)
  }

  /** Ends the idle sessions and all waiting; a session in use ends when it comes back. */
  function close(): void {
    isClosed = true
    for (const shelf of shelves.values()) {
      shelf.places.close()
      for (const { wire } of shelf.idle.splice(0)) {
        wire.wake()
        wire.quit()
      }
      dropUnused(shelf)
    }
  }

  return { take, close }
}
