import { performance } from 'node:perf_hooks'
import type { ConnectError } from '@connectrpc/connect'
import type { Rate } from '../caller.ts'
import { createCollector } from '../db/collector.ts'
import type { Database } from '../db/connect.ts'
import { stepInTime } from '../db/outage.ts'
import { run } from '../db/statement.ts'
import { fail } from '../errors.ts'

/** A window begins with the first request after the end of the previous window. */
export const WINDOW_SECONDS = 60

/**
 * A process takes places ahead: one for every 10,000 requests of a window, and never more than 100. With a limit below
 * 20,000 requests a minute it takes none ahead.
 */
const PLACES_PER_PLACE_AHEAD = 10_000
const MAX_AHEAD = 100

export interface RequestCount extends Rate {
  admitted: boolean
  /** Whole seconds until the window ends, at least 1. */
  secondsLeft: number
}

/** Places in a window that the database has given to this process. */
interface Places {
  /** The next place to give out. Places count from 1. */
  next: number
  last: number
  /** When the window ends, in Unix seconds of the database. */
  endsAt: number
  /** The earliest moment at which the window can end, by this process's monotonic clock in milliseconds. */
  validUntil: number
  /** The latest moment at which it can end, by the same clock. */
  overBy: number
}

interface LimitedRequest {
  caller: string
  ahead: number
  json: string
}

/**
 * Counts one request of an account in its window of a minute and says whether it is within the limit. The count is
 * exact over any number of processes: one row of the database gives each request its own place in the window, by the
 * database's clock. Requests of the same moment share a statement. Places of a large window are taken ahead, so that
 * most requests need no statement. Throws `transient_failure` when the database does not count the request within 5 s.
 */
export function createLimiter(db: Database): (accountId: string, perMinute: number) => Promise<RequestCount> {
  const placesAhead = new Map<string, Places[]>()

  const count = createCollector(
    async (requests: LimitedRequest[]) => {
      const taken = await takePlaces(db, requests)
      const own = requests.map(({ caller }) => give(taken.get(caller)!))
      for (const [caller, places] of taken) if (places.next <= places.last) keep(caller, places)
      return own
    },
    { repeatable: db, note: db.noteBatch('count_requests'), groupOf: ({ caller }) => caller },
  )

  function keep(caller: string, places: Places): void {
    const kept = placesAhead.get(caller)
    if (kept) kept.push(places)
    else placesAhead.set(caller, [places])
  }

  function takePlaceAhead(caller: string): CountedPlace | undefined {
    const kept = placesAhead.get(caller) ?? []
    while (kept[0] && (kept[0].next > kept[0].last || performance.now() >= kept[0].validUntil)) kept.shift()
    if (kept.length === 0) placesAhead.delete(caller)
    return kept[0] && give(kept[0])
  }

  return async (accountId, perMinute) => {
    const ahead = Math.min(MAX_AHEAD, Math.max(1, Math.floor(perMinute / PLACES_PER_PLACE_AHEAD))) - 1
    const { place, endsAt, secondsLeft } =
      takePlaceAhead(accountId) ??
      (await stepInTime(db, count({ caller: accountId, ahead, json: '' })).catch((cause) => {
        throw fail('transient_failure', 'The request could not be counted. It is safe to retry.', { cause })
      }))
    const remaining = Math.max(0, perMinute - place)
    return { admitted: place <= perMinute, limit: perMinute, remaining, resetAt: Math.ceil(endsAt), secondsLeft }
  }
}

/** The error of a request over a limit. */
export function usedUp(what: string, secondsLeft: number, gist?: string): ConnectError {
  const wait = `Wait ${secondsLeft} ${secondsLeft === 1 ? 'second' : 'seconds'}.`
  return fail('rate_limit_exceeded', `${what} ${wait}`, { retryAfterSeconds: secondsLeft, gist })
}

interface CountedPlace {
  place: number
  endsAt: number
  secondsLeft: number
}

function give(places: Places): CountedPlace {
  // A window may begin up to a second from now.
  const seconds = Math.ceil((places.overBy - performance.now()) / 1_000)
  const secondsLeft = Math.min(WINDOW_SECONDS, Math.max(1, seconds))
  return { place: places.next++, endsAt: places.endsAt, secondsLeft }
}

/** Takes a place for each request, and for each caller also the places that one of its requests takes ahead. */
async function takePlaces(db: Database, requests: LimitedRequest[]): Promise<Map<string, Places>> {
  const counts = new Map<string, number>()
  for (const { caller, ahead } of requests) counts.set(caller, (counts.get(caller) ?? ahead) + 1)
  const askedAt = performance.now()
  const windows = await addUp(db, counts)
  return new Map(
    windows.map(({ caller, used, endsAt, leftMs }) => {
      const next = used - counts.get(caller)! + 1
      const overBy = performance.now() + leftMs
      return [caller, { next, last: used, endsAt, validUntil: askedAt + leftMs, overBy }]
    }),
  )
}

interface Window {
  caller: string
  /** The places taken in the window, including those of this statement. */
  used: number
  /** Unix seconds. */
  endsAt: number
  leftMs: number
}

const RUNS = `held.started_at > now() - interval '${WINDOW_SECONDS} s' and held.started_at <= now() + interval '1 s'`

// All statements take their rows in the same order, so two of them cannot wait for each other. A statement happens at
// the time of its beginning, `now()`; if it waited for the lock of a newer window, it counts in that window. A window
// that begins more than a second from now comes from before the database's clock was set back. The table is unlogged,
// so that the commit waits for no disk.
const ADD_UP = `
  insert into rate_windows as held (caller, started_at, used)
  select caller, now(), places from unnest($1::text::text[], $2::text::integer[]) as taken (caller, places)
  order by caller
  on conflict (caller) do update set
    started_at = case when ${RUNS} then held.started_at else now() end,
    used = case when ${RUNS} then held.used else 0 end + excluded.used
  returning caller, used, extract(epoch from started_at)::float8 + ${WINDOW_SECONDS} as "endsAt",
    (extract(epoch from started_at - now())::float8 + ${WINDOW_SECONDS}) * 1000 as "leftMs"`

/** Adds places to the window of each caller. */
async function addUp(db: Database, counts: Map<string, number>): Promise<Window[]> {
  // Array literals: ids and numbers need no quotes.
  return run<Window>(db, ADD_UP, [`{${[...counts.keys()]}}`, `{${[...counts.values()]}}`])
}
