import { createTally } from './tally.ts'

/** Gives a place back. */
export type Free = () => void

/** How long a caller waits for a place; for ever when left out. */
export interface Patience {
  /** On the clock of `performance.now()`. */
  untilMs?: number
  signal?: AbortSignal
}

/** A number of places that whoever takes turns shares fairly. */
export interface Places {
  /** A place at once, or undefined. */
  takeNow(turn: string): Free | undefined
  /**
   * Waits for a place. Turns are served one after the other, and each in the order of its requests, so that many requests of one turn
   * delay another turn by one place at the most. Undefined when patience ended first, or as many wait as may.
   */
  take(turn: string, patience?: Patience): Promise<Free | undefined>
  isUnused(): boolean
  /** Ends all waiting. */
  close(): void
}

export interface PlacesOptions {
  places: number
  /** The most that one turn holds at a time, so that some are left for others; all of them when left out. */
  perTurn?: number
  /** The most requests that wait at a time, of all turns. */
  maxWaiting?: number
}

type Give = (free: Free | undefined) => void

export function createPlaces({ places, perTurn = places, maxWaiting = Infinity }: PlacesOptions): Places {
  const held = createTally()
  /** In the order of turns. No line is empty. */
  const lines = new Map<string, Set<Give>>()
  let taken = 0
  let waiting = 0

  const mayTake = (turn: string) => taken < places && held.of(turn) < perTurn

  function hold(turn: string): Free {
    taken++
    held.add(turn, 1)
    return () => {
      held.add(turn, -1)
      taken--
      serveNext()
    }
  }

  function serveNext(): void {
    for (const [turn, line] of lines) {
      if (!mayTake(turn)) continue
      const [give] = line
      leave(turn, give!)
      // Its next request waits until the other turns were served.
      if (lines.delete(turn)) lines.set(turn, line)
      give!(hold(turn))
      return
    }
  }

  function leave(turn: string, give: Give): void {
    const line = lines.get(turn)
    if (!line?.delete(give)) return
    waiting--
    if (line.size === 0) lines.delete(turn)
  }

  function wait(turn: string, { untilMs, signal }: Patience): Promise<Free | undefined> {
    return new Promise((resolve) => {
      const give: Give = (free) => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', giveUp)
        resolve(free)
      }
      const giveUp = () => {
        leave(turn, give)
        give(undefined)
      }
      const timer = untilMs === undefined ? undefined : setTimeout(giveUp, Math.max(0, untilMs - performance.now()))
      signal?.addEventListener('abort', giveUp)
      const line = lines.get(turn) ?? new Set()
      lines.set(turn, line.add(give))
      waiting++
    })
  }

  const takeNow = (turn: string) => (mayTake(turn) ? hold(turn) : undefined)

  return {
    takeNow,
    async take(turn, patience = {}) {
      if (patience.signal?.aborted) return undefined
      return takeNow(turn) ?? (waiting < maxWaiting ? wait(turn, patience) : undefined)
    },
    isUnused: () => taken === 0,
    close() {
      const all = [...lines.values()].flatMap((line) => [...line])
      lines.clear()
      waiting = 0
      for (const give of all) give(undefined)
    },
  }
}

/** Of places that callers share, the most that one of them holds: a fifth is left for others, however long each place is held. */
export function ofOneTurn(places: number): number {
  return Math.ceil(places * 0.8)
}

export interface Slots {
  /**
   * Waits for a slot of this key and takes it; what it gives frees it again. Undefined when the signal came first, or as many wait as
   * may. For `turn` see `Places`.
   */
  take(key: string, signal?: AbortSignal, turn?: string): Promise<Free | undefined>
}

interface SlotsOptions extends Omit<PlacesOptions, 'places'> {
  perKey: number
}

/** So many slots for each key. */
export function createSlots({ perKey, ...options }: SlotsOptions): Slots {
  const keys = new Map<string, Places>()

  return {
    async take(key, signal, turn = '') {
      if (signal?.aborted) return undefined
      const places = keys.get(key) ?? createPlaces({ places: perKey, ...options })
      keys.set(key, places)
      const free = await places.take(turn, { signal })
      return (
        free &&
        (() => {
          free()
          if (places.isUnused()) keys.delete(key)
        })
      )
    },
  }
}
