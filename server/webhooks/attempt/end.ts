import { createPause } from '../../async/pauses.ts'
import { createCollector, isRowFault, jsonArray } from '../../db/collector.ts'
import type { Database } from '../../db/connect.ts'
import { run, uuidArray } from '../../db/statement.ts'
import type { PostResult } from '../post/post.ts'

/** The end of an attempt. */
interface AttemptEnd extends PostResult {
  /** UUID. */
  dispatchId: string
  /** UUID. */
  accountId: string
  number: number
  /** Unix milliseconds, by the database's clock. */
  startedAtMs: number
  /** The version of the endpoint's URL. */
  urlVersion: number
  durationMs: number
  /** The delay of the next attempt, should this one have failed; undefined for the last attempt. */
  nextDelayMs?: number
}

/**
 * SQL that appends dispatches to history: those that a CTE has deleted from `open_dispatches` because they are over.
 * @param ended the CTE of their rows
 * @param state the state in which they ended
 * @param endedAt when they ended
 */
export const intoDispatchHistory = (ended: string, state: string, endedAt: string) => `
    insert into dispatches (id, event_id, message_id, account_id, endpoint_id, kind, state, workflow_id, created_at,
      ended_at)
    select id, event_id, message_id, account_id, endpoint_id, kind, ${state}, workflow_id, created_at, ${endedAt} from ${ended}`

/**
 * SQL that stores attempts of a process that has not said how they ended. It may still say so: the time one millisecond
 * later, the precision of the column, leaves the key of the attempt to its end.
 * @param lost the CTE of the attempts
 */
export const unknownAttempts = (lost: { from: string; number: string; startedAt: string; where?: string }) => `
    insert into attempts (dispatch_id, account_id, number, started_at, outcome)
    select id, account_id, ${lost.number}, ${lost.startedAt} + interval '1 millisecond', 'unknown'
    from ${lost.from}${lost.where ? ` where ${lost.where}` : ''}
    on conflict do nothing`

// An acknowledgement ends the dispatch. A failure schedules the next attempt, unless another process has gone on with
// the row in the meantime. An acknowledgement that comes after the end of its dispatch is not stored: the attempt
// stays `unknown`, as that end recorded it.
export const END = `
  with input as materialized (
    select * from json_to_recordset($1::json) as r(
      id uuid, account_id uuid, number smallint, started_ms float8, finished_ms float8, outcome text,
      url_version int, status_code smallint, cause text, location text, phases json, excerpt text, excerpt_cut boolean,
      next_delay_ms float8)
  ),
  acknowledged as (
    delete from open_dispatches d using input i where d.id = i.id and i.outcome = 'acked'
    returning d.*, i.finished_ms
  ),
  failed as (
    update open_dispatches d set attempt = i.number + 1, started_at = null, lease_until = null,
      due_at = clock_timestamp() + coalesce(i.next_delay_ms, 0) * interval '1 millisecond'
    from input i where d.id = i.id and i.outcome <> 'acked' and d.attempt = i.number
    returning d.id, d.account_id, d.endpoint_id,
      case when i.next_delay_ms is not null and d.due_at <= d.deadline_at then d.due_at end as next_at
  ),
  kept_attempts as (
    insert into attempts (
      dispatch_id, account_id, number, started_at, finished_at, outcome, url_version, status_code, cause, location, phases, excerpt,
      excerpt_cut, next_attempt_at)
    select i.id, i.account_id, i.number, to_timestamp(i.started_ms / 1000), to_timestamp(i.finished_ms / 1000), i.outcome,
      i.url_version, i.status_code, i.cause, i.location, i.phases, i.excerpt, i.excerpt_cut, f.next_at
    from input i left join failed f on f.id = i.id
    where i.outcome <> 'acked' or exists (select from acknowledged a where a.id = i.id)
    on conflict do nothing
  ),
  kept_dispatches as (${intoDispatchHistory('acknowledged', "'acknowledged'", 'to_timestamp(finished_ms / 1000)')}
  ),
  health as (
    insert into webhook_hours as h (
      account_id, endpoint_id, hour, acknowledged, failed, last_acknowledged_at, last_failed_at, failed_since)
    select account_id, endpoint_id, date_trunc('hour', clock_timestamp(), 'UTC'), sum(acked), sum(1 - acked),
      case when sum(acked) > 0 then clock_timestamp() end, case when sum(acked) < count(*) then clock_timestamp() end,
      case when sum(acked) > 0 then 0 else count(*) end
    from (
      select account_id, endpoint_id, 1 as acked from acknowledged
      union all select account_id, endpoint_id, 0 from failed
    ) e
    group by account_id, endpoint_id order by account_id, endpoint_id
    on conflict (account_id, endpoint_id, hour) do update set
      acknowledged = h.acknowledged + excluded.acknowledged,
      failed = h.failed + excluded.failed,
      last_acknowledged_at = coalesce(excluded.last_acknowledged_at, h.last_acknowledged_at),
      last_failed_at = coalesce(excluded.last_failed_at, h.last_failed_at),
      failed_since = case when excluded.acknowledged > 0 then 0 else h.failed_since + excluded.failed_since end
  )
  select id from acknowledged`

/** Attempts that end at about the same moment share a statement: their sends do not wait for it. */
const LINGER_MS = 50
/** How long we keep trying to store an attempt's outcome. After that it is unknown, and the attempt is made again. */
const TRY_MS = 14_000

/**
 * Stores how an attempt ended. Throws when the outcome could not be stored. The attempt is then recorded as `unknown`
 * and made again under the same number.
 */
export function createEndAttempt(db: Database): (end: AttemptEnd) => Promise<void> {
  const commit = createCollector<{ json: string; accountId: string }, unknown>(
    async (rows) => {
      await run(db, END, [jsonArray(rows)])
      return rows
    },
    { lingerMs: LINGER_MS, note: db.noteBatch('end_attempts'), groupOf: ({ accountId }) => accountId },
  )
  return (end) => {
    const row = { json: inputRow(end), accountId: end.accountId }
    return keepTrying(() => commit(row))
  }
}

/**
 * Repeats `work` for a while as long as the database cannot be reached. Throws its last error, or at once an error
 * that no repetition changes.
 */
export async function keepTrying(work: () => Promise<unknown>): Promise<void> {
  const untilMs = performance.now() + TRY_MS
  for (const pause = createPause(); ; await pause()) {
    try {
      await work()
      return
    } catch (error) {
      if (isRowFault(error) || performance.now() > untilMs) throw error
    }
  }
}

function inputRow({
  dispatchId,
  accountId,
  number,
  urlVersion,
  startedAtMs,
  durationMs,
  nextDelayMs,
  ...result
}: AttemptEnd): string {
  return JSON.stringify({
    id: dispatchId,
    account_id: accountId,
    number,
    started_ms: startedAtMs,
    finished_ms: startedAtMs + durationMs,
    outcome: result.outcome,
    url_version: urlVersion,
    status_code: result.statusCode,
    cause: result.code,
    location: result.location,
    phases: result.phases,
    excerpt: result.excerpt,
    excerpt_cut: result.excerptCut ?? false,
    next_delay_ms: nextDelayMs,
  })
}

/** The most dispatches without an endpoint that one statement cancels. */
export const MAX_CANCELLED = 1_000

/** SQL: the current time, or the time of creation where the clocks disagree and that is later. */
export const ENDED_NOW = 'greatest(created_at, clock_timestamp())'

/** SQL: whether the endpoint of a dispatch was deleted. */
const LOST_ENDPOINT = 'not exists (select from webhook_endpoints w where w.id = endpoint_id)'

export const FINISH = `
  with over as (
    delete from open_dispatches where id = any($1::uuid[])
    returning *
  ),
  lost as (${unknownAttempts({ from: 'over', number: 'attempt', startedAt: 'started_at', where: 'started_at is not null' })}
  )
  ${intoDispatchHistory('over', `case when ${LOST_ENDPOINT} then 'cancelled' else $2 end`, ENDED_NOW)}`

/**
 * Ends dispatches that are not acknowledged. Dispatches that have ended are not changed. An attempt that was running
 * becomes `unknown`.
 */
export async function finishDispatches(db: Database, ids: string[], state: 'exhausted' | 'cancelled'): Promise<void> {
  await run(db, FINISH, [uuidArray(ids), state])
}
