import { createTally, type Tally } from '../tally.ts'

export interface Places {
  /**
   * Takes one of an account's places at an origin, and returns the function that frees it. Waits while the account has no place left.
   * Returns undefined when none came free in time, or `signal` aborted.
   */
  take(origin: string, accountId: string, signal?: AbortSignal): Promise<(() => void) | undefined>
}

interface PlacesOptions {
  /** Places at each origin. */
  perOrigin: number
  /** How long `take` waits, in milliseconds. */
  waitMs: number
}

interface Origin {
  free: number
  /** Places that each account holds. */
  held: Tally
  /** POSTs that wait for a place, by account. The first account has the next turn. */
  waiting: Map<string, Set<() => void>>
}

/**
 * Places for POSTs to the same origin. An account may hold as many places as it leaves free: one account alone takes half of them,
 * and a few that hold theirs for long leave some for all others.
 */
export function createPlaces({ perOrigin, waitMs }: PlacesOptions): Places {
  const origins = new Map<string, Origin>()

  function originOf(name: string): Origin {
    const origin = origins.get(name) ?? { free: perOrigin, held: createTally(), waiting: new Map() }
    origins.set(name, origin)
    return origin
  }

  function free(name: string, accountId: string): void {
    const origin = originOf(name)
    origin.held.add(accountId, -1)
    origin.free++
    serve(origin)
    if (origin.free === perOrigin) origins.delete(name)
  }

  return {
    async take(name, accountId, signal) {
      const origin = originOf(name)
      if (hasRoom(origin, accountId)) hold(origin, accountId)
      else if (!(await turn(origin, accountId, waitMs, signal))) return undefined
      return () => free(name, accountId)
    },
  }
}

/** Whether the account may hold one more place. */
function hasRoom({ free, held }: Origin, accountId: string): boolean {
  return held.of(accountId) < free
}

function hold(origin: Origin, accountId: string): void {
  origin.free--
  origin.held.add(accountId, 1)
}

/** Hands places on, in the order of turns. An account that was served goes to the end, where the loop meets it again. */
function serve(origin: Origin): void {
  for (const [accountId, line] of origin.waiting) {
    if (!hasRoom(origin, accountId)) continue
    const [first] = line
    line.delete(first!)
    origin.waiting.delete(accountId)
    if (line.size > 0) origin.waiting.set(accountId, line)
    hold(origin, accountId)
    first!()
  }
}

/** Resolves to true when the account has been handed a place, to false when `waitMs` pass or `signal` aborts first. */
function turn({ waiting }: Origin, accountId: string, waitMs: number, signal?: AbortSignal): Promise<boolean> {
  if (signal?.aborted) return Promise.resolve(false)
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const line = waiting.get(accountId) ?? new Set()
  waiting.set(accountId, line)
  const settle = (hasTurn: boolean) => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', giveUp)
    resolve(hasTurn)
  }
  const take = () => settle(true)
  const giveUp = () => {
    line.delete(take)
    if (line.size === 0 && waiting.get(accountId) === line) waiting.delete(accountId)
    settle(false)
  }
  const timer = setTimeout(giveUp, waitMs)
  signal?.addEventListener('abort', giveUp)
  line.add(take)
  return promise
}
