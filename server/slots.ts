import { createTally } from './tally.ts'

/** Gives a place back. */
export type Release = () => void

/** When a request stops waiting for a place. Without either field it waits indefinitely. */
export interface Patience {
  /** On the clock of `performance.now()`. */
  untilMs?: number
  signal?: AbortSignal
}

/**
 * A number of places that turns share fairly. A turn is a name for requests that belong together, such as an account.
 */
export interface Places {
  /** Takes a place, or returns undefined when none is free or the turn is at its limit. */
  takeNow(turn: string): Release | undefined
  /**
   * Waits for a place. Turns are served one after the other, each in the order of its requests, so that many requests
   * of one turn delay another turn by at most one place. Resolves to undefined when patience ends first, or when too
   * many requests wait already.
   */
  take(turn: string, patience?: Patience): Promise<Release | undefined>
  isUnused(): boolean
  /** Resolves all waiting requests to undefined. Places that are taken stay taken. */
  close(): void
}

export interface PlacesOptions {
  places: number
  /**
   * The most places of one turn at a time, so that some are left for others. By default it is all of them. A function
   * computes it from the number of free places.
   */
  perTurn?: number | ((free: number) => number)
  /** The most requests that may wait at a time, over all turns. */
  maxWaiting?: number
}

type Give = (release: Release | undefined) => void

export function createPlaces({ places, perTurn = places, maxWaiting = Infinity }: PlacesOptions): Places {
  const maxOfTurn = typeof perTurn === 'function' ? perTurn : () => perTurn
  const heldPlaces = createTally()
  /** The requests that wait, by turn and in the order of turns. No line is empty. */
  const lines = new Map<string, Set<Give>>()
  let free = places
  let waitingRequests = 0

  const mayTake = (turn: string) => free > 0 && heldPlaces.of(turn) < maxOfTurn(free)

  function hold(turn: string): Release {
    free--
    heldPlaces.add(turn, 1)
    return () => {
      heldPlaces.add(turn, -1)
      free++
      serve()
    }
  }

  /** Gives free places to requests that wait. A turn that was served goes to the end, where the loop finds it again. */
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
    waitingRequests--
    if (line.size === 0) lines.delete(turn)
  }

  function wait(turn: string, { untilMs, signal }: Patience): Promise<Release | undefined> {
    return new Promise((resolve) => {
      const give: Give = (release) => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', giveUp)
        resolve(release)
      }
      const giveUp = () => {
        leave(turn, give)
        give(undefined)
      }
      const timer = untilMs === undefined ? undefined : setTimeout(giveUp, Math.max(0, untilMs - performance.now()))
      signal?.addEventListener('abort', giveUp)
      const line = lines.get(turn) ?? new Set()
      lines.set(turn, line.add(give))
      waitingRequests++
    })
  }

  const takeNow = (turn: string) => (mayTake(turn) ? hold(turn) : undefined)

  return {
    takeNow,
    async take(turn, patience = {}) {
      if (patience.signal?.aborted) return undefined
      return takeNow(turn) ?? (waitingRequests < maxWaiting ? wait(turn, patience) : undefined)
    },
    isUnused: () => free === places,
    close() {
      const all = [...lines.values()].flatMap((line) => [...line])
      lines.clear()
      waitingRequests = 0
      for (const give of all) give(undefined)
    },
  }
}

/** Returns 80 % of the places, rounded up: the most that one turn may hold, so that others find some free. */
export function ofOneTurn(places: number): number {
  return Math.ceil(places * 0.8)
}

export interface SlotRequest extends Patience {
  /** See `Places`. */
  turn?: string
}

export interface Slots {
  /**
   * Waits for a slot of this key and takes it. Returns the function that frees it, or undefined when patience ends
   * first, or when too many requests wait already.
   */
  take(key: string, request?: SlotRequest): Promise<Release | undefined>
}

interface SlotsOptions extends Omit<PlacesOptions, 'places'> {
  perKey: number
}

/** Creates `perKey` slots for each key at its first use, and drops them when none of them is taken. */
export function createSlots({ perKey, ...options }: SlotsOptions): Slots {
  const keys = new Map<string, Places>()

  return {
    async take(key, { turn = '', ...patience } = {}) {
      if (patience.signal?.aborted) return undefined
      const places = keys.get(key) ?? createPlaces({ places: perKey, ...options })
      keys.set(key, places)
      const release = await places.take(turn, patience)
      return (
        release &&
        (() => {
          release()
          if (places.isUnused()) keys.delete(key)
        })
      )
    },
  }
}
