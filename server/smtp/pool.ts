import { type SiteLimits, siteLimitsOf } from './limits.ts'
import type { Session } from './session.ts'

/** The right to one connection to a site, with a session if one was idle. */
export interface Slot {
  kind: 'slot'
  session?: Session
  /** Gives the right back, with the session if it can take another message. */
  free(session?: Session): void
}

export interface NoSlot {
  kind: 'none'
  cause: string
}

/** The connections from one source address to one site. */
interface Shelf {
  key: string
  limits: SiteLimits
  open: number
  /** The one used last is taken first, so that the others may end. Empty while anybody waits. */
  idle: Session[]
  /** First come, first served. */
  waiting: Set<(slot: Slot | NoSlot) => void>
}

interface Place {
  /** Source address and site. */
  key: string
  /** Name of an exchanger of the site: decides the limits. */
  mx: string
}

const LEFT: NoSlot = { kind: 'none', cause: 'the caller left' }
const DRAINING: NoSlot = { kind: 'none', cause: 'draining' }
const BUSY: NoSlot = { kind: 'none', cause: 'no connection to the site became free in time' }

/** Keeps idle sessions and the bound on connections per site. */
export function createPool({ idleMs }: { idleMs: number }) {
  const shelves = new Map<string, Shelf>()
  let isClosed = false

  async function take(place: Place, untilMs: number, signal?: AbortSignal): Promise<Slot | NoSlot> {
    if (signal?.aborted) return LEFT
    if (isClosed) return DRAINING
    const shelf = shelves.get(place.key) ?? createShelf(place)
    const session = shelf.idle.pop()
    if (session) return slotOf(shelf, session)
    if (shelf.open < shelf.limits.connections) {
      shelf.open++
      return slotOf(shelf)
    }
    return wait(shelf, untilMs, signal)
  }

  function createShelf({ key, mx }: Place): Shelf {
    const shelf: Shelf = { key, limits: siteLimitsOf(mx), open: 0, idle: [], waiting: new Set() }
    shelves.set(key, shelf)
    return shelf
  }

  function wait(shelf: Shelf, untilMs: number, signal?: AbortSignal): Promise<Slot | NoSlot> {
    return new Promise((resolve) => {
      const give = (slot: Slot | NoSlot) => {
        shelf.waiting.delete(give)
        clearTimeout(timer)
        signal?.removeEventListener('abort', leave)
        resolve(slot)
      }
      const leave = () => give(LEFT)
      const timer = setTimeout(() => give(BUSY), Math.max(0, untilMs - performance.now()))
      signal?.addEventListener('abort', leave)
      shelf.waiting.add(give)
    })
  }

  function slotOf(shelf: Shelf, session?: Session): Slot {
    session?.wire.wake()
    return { kind: 'slot', session, free: (used) => free(shelf, used) }
  }

  function free(shelf: Shelf, session?: Session): void {
    const isSpent = isClosed || (session?.messages ?? 0) >= shelf.limits.messages
    if (isSpent) session?.wire.quit()
    const kept = isSpent ? undefined : session
    const [next] = shelf.waiting
    if (next) next(slotOf(shelf, kept))
    else if (kept) rest(shelf, kept)
    else drop(shelf)
  }

  function rest(shelf: Shelf, session: Session): void {
    shelf.idle.push(session)
    session.wire.rest(performance.now() + idleMs, () => {
      session.wire.quit()
      shelf.idle.splice(shelf.idle.indexOf(session), 1)
      drop(shelf)
    })
  }

  function drop(shelf: Shelf): void {
    shelf.open--
    if (shelf.open === 0) shelves.delete(shelf.key)
  }

  /** Ends the idle sessions and all waiting; what is in use ends when it comes back. */
  function close(): void {
    isClosed = true
    for (const shelf of shelves.values()) {
      for (const give of shelf.waiting) give(DRAINING)
      for (const { wire } of shelf.idle.splice(0)) {
        wire.wake()
        wire.quit()
        drop(shelf)
      }
    }
  }

  return { take, close }
}
