import { createTally } from './tally.ts'

/** Gives a place back. */
export type Free = () => void

/** How long a caller waits for a place; for ever when left out. */
export interface Patience {
  /** On the clock of `performance.now()`. */
  untilMs?: number
  signal?: AbortSignal
}

/** A number of places, shared fairly between those that take turns. */
export interface Places {
  /** A place at once, or undefined. */
  takeNow(turn: string): Free | undefined
  /**
   * Waits for a place. Turns are served one after the other, and each in the order of its requests, so that many requests of one turn
   * delay another turn by one place at the most. Resolves to undefined when patience ends first, or as many wait as may.
   */
  take(turn: string, patience?: Patience): Promise<Free | undefined>
  isUnused(): boolean
  /** Ends all waiting. */
  close(): void
}

export interface PlacesOptions {
  places: number
  /**
   * The most that one turn holds at a time, so that some are left for others; all of them when left out. A function computes it from
   * the places that are free now.
   */
  perTurn?: number | ((free: number) => number)
  /** The most requests that wait at a time, of all turns. */
  maxWaiting?: number
}

type Give = (free: Free | undefined) => void

export function createPlaces({ places, perTurn = places, maxWaiting = Infinity }: PlacesOptions): Places {
  const mostOfOne = typeof perTurn === 'function' ? perTurn : () => perTurn
  const held = createTally()
  /** In the order of turns. No line is empty. */
  const lines = new Map<string, Set<Give>>()
  let free = places
  let waiting = 0

  const mayTake = (turn: string) => free > 0 && held.of(turn) < mostOfOne(free)

  function hold(turn: string): Free {
    free--
    held.add(turn, 1)
    return () => {
      held.add(turn, -1)
      free++
      serve()
    }
  }

  /** Gives free places to those that wait. A turn that was served goes to the end, where the loop meets it again. */
  function serve(): void {
    for (const [turn, line] of lines) {
      if (free === 0) return
      if (!mayTake(turn)) continue
      const [give] = line
      leave(turn, give!)
      if (lines.delete(turn)) lines.set(turn, line)
      give!(hold(turn))
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
      const give: Give = (place) => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', giveUp)
        resolve(place)
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
    isUnused: () => free === places,
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

export interface SlotRequest extends Patience {
  /** See `Places`. */
  turn?: string
}

export interface Slots {
  /**
   * Waits for a slot of this key and takes it; returns the function that frees it. Resolves to undefined when patience ends first, or
   * as many wait as may.
   */
  take(key: string, request?: SlotRequest): Promise<Free | undefined>
}

interface SlotsOptions extends Omit<PlacesOptions, 'places'> {
  perKey: number
}

/** `perKey` slots for each key. */
export function createSlots({ perKey, ...options }: SlotsOptions): Slots {
  const keys = new Map<string, Places>()

  return {
    async take(key, { turn = '', ...patience } = {}) {
      if (patience.signal?.aborted) return undefined
      const places = keys.get(key) ?? createPlaces({ places: perKey, ...options })
      keys.set(key, places)
      const free = await places.take(turn, patience)
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
