import { performance } from 'node:perf_hooks'
import type { ConnectError } from '@connectrpc/connect'
import type { Rate } from '../caller.ts'
import { collector } from '../db/collector.ts'
import type { Database } from '../db/connect.ts'
import { run } from '../db/statement.ts'
import { fail } from '../errors.ts'
import { inTime } from '../in-time.ts'

/** A window begins with the first request after the one before has ended. */
export const WINDOW_SECONDS = 60

/** A process takes one place in so many of a window ahead, and never more than 100: below 20,000 requests a minute none. */
const PLACES_PER_PLACE_AHEAD = 10_000
const MAX_AHEAD = 100

/** Longer than a statement that is not stuck: a database that is silent must not hold a call for ever. */
const COUNT_TIMEOUT_MS = 5_000

export interface Counted extends Rate {
  admitted: boolean
  /** Whole seconds until the window ends, 1 at the least. */
  secondsLeft: number
}

/** Places of a window that are this process's own, by the database's word. */
interface Places {
  /** The next one to give out, and the last one. From 1 on. */
  next: number
  last: number
  /** When the window ends, Unix seconds of the database. */
  endsAt: number
  /** Not later than that, and not earlier, by this process's monotonic clock. */
  validUntil: number
  overBy: number
}

interface Request {
  caller: string
  ahead: number
  json: string
}

/**
 * Counts one request of an account in its window of a minute and says whether it is within the limit. Exact over any number of
 * processes: each request has a place of its own in the window, given by one row of the database, by the database's clock. Requests
 * of the same moment share a statement; of a large window some places are taken ahead, so that most requests need none. Throws
 * `transient_failure` when the database does not count it within 5 s.
 */
export function createLimiter(db: Database): (accountId: string, perMinute: number) => Promise<Counted> {
  const held = new Map<string, Places[]>()

  const count = collector(async (requests: Request[]) => {
    const places = await takePlaces(db, requests)
    const given = requests.map(({ caller }) => give(places.get(caller)!))
    for (const [caller, left] of places) if (left.next <= left.last) hold(caller, left)
    return given
  })

  function hold(caller: string, places: Places): void {
    const mine = held.get(caller)
    if (mine) mine.push(places)
    else held.set(caller, [places])
  }

  function takeHeld(caller: string): Place | undefined {
    const mine = held.get(caller) ?? []
    while (mine[0] && (mine[0].next > mine[0].last || performance.now() >= mine[0].validUntil)) mine.shift()
    if (mine.length === 0) held.delete(caller)
    return mine[0] && give(mine[0])
  }

  return async (accountId, perMinute) => {
    const ahead = Math.min(MAX_AHEAD, Math.max(1, Math.floor(perMinute / PLACES_PER_PLACE_AHEAD))) - 1
    const { place, endsAt, secondsLeft } =
      takeHeld(accountId) ??
      (await inTime(count({ caller: accountId, ahead, json: '' }), COUNT_TIMEOUT_MS).catch((cause) => {
        throw fail('transient_failure', 'The request could not be counted. It is safe to retry.', { cause })
      }))
    const remaining = Math.max(0, perMinute - place)
    return { admitted: place <= perMinute, limit: perMinute, remaining, resetAt: Math.ceil(endsAt), secondsLeft }
  }
}

/** The error of a request over a limit. */
export function usedUp(what: string, secondsLeft: number): ConnectError {
  const wait = `Wait ${secondsLeft} ${secondsLeft === 1 ? 'second' : 'seconds'}.`
  return fail('rate_limit_exceeded', `${what} ${wait}`, { retryAfterSeconds: secondsLeft })
}

interface Place {
  place: number
  endsAt: number
  secondsLeft: number
}

function give(places: Places): Place {
  // A window may begin up to a second from now.
  const seconds = Math.ceil((places.overBy - performance.now()) / 1_000)
  const secondsLeft = Math.min(WINDOW_SECONDS, Math.max(1, seconds))
  return { place: places.next++, endsAt: places.endsAt, secondsLeft }
}

/** A place for each request, and for each caller those that one of his requests takes ahead. */
async function takePlaces(db: Database, requests: Request[]): Promise<Map<string, Places>> {
  const wanted = new Map<string, number>()
  for (const { caller, ahead } of requests) wanted.set(caller, (wanted.get(caller) ?? ahead) + 1)
  const askedAt = performance.now()
  const windows = await addUp(db, wanted)
  return new Map(
    windows.map(({ caller, used, endsAt, leftMs }) => {
      const next = used - wanted.get(caller)! + 1
      const overBy = performance.now() + leftMs
      return [caller, { next, last: used, endsAt, validUntil: askedAt + leftMs, overBy }]
    }),
  )
}

interface Window {
  caller: string
  /** Places taken, those of this statement included. */
  used: number
  /** Unix seconds. */
  endsAt: number
  leftMs: number
}

const RUNS = `held.started_at > now() - interval '${WINDOW_SECONDS} s' and held.started_at <= now() + interval '1 s'`

// One row for each caller, in one order everywhere: two statements cannot wait for each other. All of a statement happens at its
// beginning, `now()`; one that had to wait for the lock of a window that is newer counts in it. A window that begins over a second
// from now is one from before the database's clock was set back. The table is unlogged, so that the commit waits for no disk.
const ADD_UP = `
  insert into rate_windows as held (caller, started_at, used)
  select wanted.caller, now(), wanted.places from unnest($1::text::text[], $2::text::integer[]) as wanted (caller, places)
  order by wanted.caller
  on conflict (caller) do update set
    started_at = case when ${RUNS} then held.started_at else now() end,
    used = case when ${RUNS} then held.used else 0 end + excluded.used
  returning caller, used, extract(epoch from started_at)::float8 + ${WINDOW_SECONDS} as "endsAt",
    (extract(epoch from started_at - now())::float8 + ${WINDOW_SECONDS}) * 1000 as "leftMs"`

async function addUp(db: Database, wanted: Map<string, number>): Promise<Window[]> {
  // Written as arrays by hand: ids and numbers need no quotes.
  const [callers, places] = [`{${[...wanted.keys()]}}`, `{${[...wanted.values()]}}`]
  return run<Window>(db, ADD_UP, [callers, places])
}
