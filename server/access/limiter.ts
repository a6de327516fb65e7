import type { ConnectError } from '@connectrpc/connect'
import type { Rate } from '../caller.ts'
import { collector, jsonArray } from '../db/collector.ts'
import type { Database } from '../db/connect.ts'
import { inTime } from '../db/in-time.ts'
import { fail } from '../errors.ts'

/** A window begins with the first request after the one before has ended. */
export const WINDOW_SECONDS = 60

/** Longer than a statement that is not stuck: a database that is silent must not hold a call for ever. */
const COUNT_TIMEOUT_MS = 5_000

export interface Counted extends Rate {
  admitted: boolean
  /** Whole seconds until the window ends, 1 at the least. */
  secondsLeft: number
}

interface Window {
  /** Requests in the window, those of this statement included. */
  used: number
  /** Unix seconds. */
  endsAt: number
  secondsLeft: number
}

/**
 * Counts one request of an account in its window of a minute and says whether it is within the limit. Exact over any number of
 * processes: each request has a place of its own in the window, given by one row of the database, by the database's clock.
 * Requests of the same moment share a statement. Throws `transient_failure` when the database does not count it within 5 s.
 */
export function createLimiter(db: Database): (accountId: string, perMinute: number) => Promise<Counted> {
  const count = collector((rows: { json: string; caller: string }[]) => countAll(db, rows))

  return async (accountId, perMinute) => {
    const row = { caller: accountId, json: '' }
    const { place, endsAt, secondsLeft } = await inTime(count(row), COUNT_TIMEOUT_MS).catch((cause) => {
      throw fail('transient_failure', 'The request could not be counted. It is safe to retry.', { cause })
    })
    const remaining = Math.max(0, perMinute - place)
    return { admitted: place <= perMinute, limit: perMinute, remaining, resetAt: endsAt, secondsLeft }
  }
}

/** The error of a request over a limit. */
export function usedUp(what: string, secondsLeft: number): ConnectError {
  const wait = `Wait ${secondsLeft} ${secondsLeft === 1 ? 'second' : 'seconds'}.`
  return fail('rate_limit_exceeded', `${what} ${wait}`, { retryAfterSeconds: secondsLeft })
}

/** The place of each request in its caller's window, from 1 on. */
async function countAll(db: Database, rows: { caller: string }[]): Promise<(Window & { place: number })[]> {
  const asked = new Map<string, number>()
  for (const { caller } of rows) asked.set(caller, (asked.get(caller) ?? 0) + 1)
  const windows = await addUp(db, asked)
  // Filled from the first place that this statement took.
  const places = new Map([...asked].map(([caller, requests]) => [caller, windows.get(caller)!.used - requests]))
  return rows.map(({ caller }) => {
    const place = places.get(caller)! + 1
    places.set(caller, place)
    return { ...windows.get(caller)!, place }
  })
}

/**
 * One row of the statement for each caller, in one order everywhere: two statements cannot wait for each other. The clock is read
 * once for a row, after its lock is held. A window that begins over a second from now is one from before the database's clock was
 * set back. The table is unlogged, so that the commit waits for no disk.
 */
async function addUp(db: Database, asked: Map<string, number>): Promise<Map<string, Window>> {
  const callers = [...asked].map(([caller, requests]) => ({ json: JSON.stringify({ caller, requests }) }))
  const rows = await db.$client`
    insert into rate_windows as held (caller, started_at, used)
    select asked.caller, clock_timestamp(), asked.requests
    from json_to_recordset(${jsonArray(callers)}::text::json) as asked (caller text, requests integer)
    order by asked.caller
    on conflict (caller) do update set (started_at, used) = (
      select case when runs then held.started_at else at end, case when runs then held.used else 0 end + excluded.used
      from (
        select at, held.started_at > at - ${WINDOW_SECONDS} * interval '1 s'
          and held.started_at <= at + interval '1 s' as runs
        from (select clock_timestamp() as at offset 0) as clock
      ) as running
    )
    returning caller, used, extract(epoch from started_at)::float8 as started,
      extract(epoch from clock_timestamp())::float8 as now`
  return new Map(rows.map(({ caller, used, started, now }) => [caller, windowOf(used, started + WINDOW_SECONDS, now)]))
}

function windowOf(used: number, end: number, now: number): Window {
  return { used, endsAt: Math.ceil(end), secondsLeft: Math.max(1, Math.ceil(end - now)) }
}
