import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { DispatchKindSchema, type DispatchSchema, DispatchStateSchema } from '../../../gen/verdict/v1/events_pb.ts'
import type { Database } from '../../db/connect.ts'
import { enumNames } from '../../db/enum-names.ts'
import { firstIdAt, publicId, timeOfId } from '../../db/ids.ts'
import { idsAndBounds, inMs, run, UNPREPARED } from '../../db/statement.ts'
import { shownHeaders, timestampOf } from '../../webhooks/attempt/signature.ts'
import type { LinkWorkflow } from '../../webhooks/queue/workflows.ts'
import { type EndedAttempt, shownEnd, withMaskedQuery } from '../attempt-outcomes.ts'

// The way of events to the endpoints. Waiting dispatches are in one table, ended ones in another. One statement reads
// both, so that it neither misses nor repeats a dispatch that moves meanwhile. The statements are not prepared: only a
// plan made for these ids leaves out the days that cannot hold them.

const kindNames = enumNames(DispatchKindSchema)
const stateNames = enumNames(DispatchStateSchema)

/** The newest replays of an event that are shown, beside all original dispatches. */
const SHOWN_REPLAYS = 100

// The original dispatch to the account's first endpoint has the event's id. An index of its own has all others.

/**
 * A replay's id carries the clock of the process that accepted it, which may be a little behind that of the event's.
 */
const SLACK_MS = 60_000
const lowerBound = (eventId: string) => firstIdAt(timeOfId(eventId) - SLACK_MS)

const SUMMARIES = `
  with dispatched as (
    select id, event_id, endpoint_id, state, null::timestamptz as due_at from dispatches
    where id = any($1::uuid[]) and id >= $2 and id <= $3
    union all
    select id, event_id, endpoint_id, state, null from dispatches
    where id <> event_id and event_id = any($1::uuid[]) and id >= $2
    union all
    select id, event_id, endpoint_id, 'waiting', due_at from open_dispatches
    where account_id = $4 and id = any($1::uuid[])
    union all
    select id, event_id, endpoint_id, 'waiting', due_at from open_dispatches
    where account_id = $4 and id <> event_id and event_id = any($1::uuid[])
  ),
  by_endpoint as (
    select d.event_id, count(a.number)::int as attempts, min(d.due_at) as next_at,
      min(a.finished_at) filter (where a.outcome = 'acked') as acknowledged_at, max(a.started_at) as last_at,
      (array_agg(json_build_object('outcome', a.outcome, 'statusCode', a.status_code, 'code', a.cause,
        'location', a.location) order by a.started_at desc) filter (where a.number is not null))[1] as last,
      exists (select from webhook_endpoints w where w.id = d.endpoint_id)
        and bool_or(d.state <> 'cancelled') as has_to_acknowledge
    from dispatched d left join attempts a on a.dispatch_id = d.id and a.dispatch_id >= $2
    group by d.event_id, d.endpoint_id
  )
  select event_id as "eventId", sum(attempts)::int as attempts, ${inMs('min(next_at)')} as "nextMs",
    case when bool_and(acknowledged_at is not null) filter (where has_to_acknowledge)
      then ${inMs('max(acknowledged_at) filter (where has_to_acknowledge)')} end as "acknowledgedMs",
    (array_agg(last order by last_at desc) filter (where acknowledged_at is null and last is not null))[1] as "lastFailed"
  from by_endpoint group by event_id`

export interface DispatchSummary {
  attempts: number
  /** Unix milliseconds. */
  acknowledgedMs: number | null
  /** When the next attempt is due; in the past while it runs. */
  nextMs: number | null
  /** The newest attempt at an endpoint that has not acknowledged the event. */
  lastFailed: EndedAttempt | null
}

const NO_ATTEMPTS: DispatchSummary = { attempts: 0, acknowledgedMs: null, nextMs: null, lastFailed: null }

/**
 * Reads how often each event of an account was posted, since when all endpoints have acknowledged it, when the next
 * attempt is due, and how the newest failed. Takes ids in any order.
 */
export async function summariesOf(
  db: Database,
  accountId: string,
  eventIds: string[],
): Promise<(eventId: string) => DispatchSummary> {
  if (eventIds.length === 0) return () => NO_ATTEMPTS
  const [ids, smallest, largest] = idsAndBounds(eventIds)
  const parameters = [ids, lowerBound(smallest), largest, accountId]
  const rows = await run<DispatchSummary & { eventId: string }>(db, SUMMARIES, parameters, UNPREPARED)
  const byEvent = new Map(rows.map((row) => [row.eventId, row]))
  return (eventId) => byEvent.get(eventId) ?? NO_ATTEMPTS
}

const DISPATCHES = `
  with dispatched as (
    select id, endpoint_id, kind, state, workflow_id, true as is_started, created_at, ended_at,
      null::timestamptz as next_at
    from dispatches where id = $1
    union all
    select id, endpoint_id, kind, state, workflow_id, true, created_at, ended_at, null from dispatches
    where id <> event_id and event_id = $1 and id >= $3
    union all
    select id, endpoint_id, kind, 'waiting', workflow_id, handed_over_at is not null, created_at, null,
      case when started_at is null and (lease_until is null or lease_until < clock_timestamp()) then due_at end
    from open_dispatches where account_id = $2 and (id = $1 or (id <> event_id and event_id = $1))
  )
  select d.id, d.endpoint_id as "endpointId", d.kind, d.state, d.workflow_id as "workflowId", d.is_started as "isStarted",
    exists (select from open_dispatches o where o.workflow_id = d.workflow_id) as "isRunning",
    ${inMs('d.created_at')} as "createdMs", ${inMs('d.ended_at')} as "endedMs", ${inMs('d.next_at')} as "nextMs",
    coalesce((
      select json_agg(json_build_object(
        'number', a.number, 'startedMs', ${inMs('a.started_at')}, 'finishedMs', ${inMs('a.finished_at')},
        'outcome', a.outcome, 'statusCode', a.status_code, 'code', a.cause, 'location', a.location, 'phases', a.phases,
        'url', (select u.url from webhook_urls u where u.endpoint_id = d.endpoint_id and u.version = a.url_version),
        'excerpt', a.excerpt, 'excerptCut', a.excerpt_cut)
        order by a.number, a.started_at)
      from attempts a where a.dispatch_id = d.id and a.dispatch_id >= $3), '[]') as attempts
  from (
    select *, row_number() over (partition by kind order by id desc) as nth from dispatched
  ) as d
  where d.kind = 'original' or d.nth <= ${SHOWN_REPLAYS}`

interface DispatchRow {
  id: string
  endpointId: string
  kind: string
  state: string
  workflowId: string | null
  /** Whether Temporal has the workflow; before that its page does not exist. */
  isStarted: boolean
  /** Whether a dispatch of its workflow waits. */
  isRunning: boolean
  createdMs: number
  endedMs: number | null
  nextMs: number | null
  attempts: AttemptRow[]
}

interface AttemptRow extends EndedAttempt {
  number: number
  startedMs: number
  finishedMs: number | null
  /** Where it was posted to; null when that is not known. */
  url: string | null
}

/** How dispatches are shown. */
interface Shown {
  workflowLink: LinkWorkflow
  /** What every request of the event has; undefined when its rows are no longer stored. */
  request: { body: string; eventId: string } | undefined
  /** Whether the caller may see the URLs of endpoints. */
  showsUrls: boolean
}

/** Reads the dispatches of an event, the oldest first. Of more than 100 replays it reads the newest. */
export async function dispatchesOf(
  db: Database,
  accountId: string,
  eventId: string,
  shown: Shown,
): Promise<MessageInitShape<typeof DispatchSchema>[]> {
  const parameters = [eventId, accountId, lowerBound(eventId)]
  const rows = await run<DispatchRow>(db, DISPATCHES, parameters, UNPREPARED)
  const oldestFirst = rows.toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))
  return Promise.all(oldestFirst.map((row) => dispatchOf(row, shown)))
}

async function dispatchOf(row: DispatchRow, shown: Shown): Promise<MessageInitShape<typeof DispatchSchema>> {
  const dispatchId = publicId('dsp', row.id)
  return {
    dispatchId,
    endpointId: publicId('whk', row.endpointId),
    kind: kindNames.value(row.kind),
    state: stateNames.value(row.state),
    createdAt: timestampFromMs(row.createdMs),
    endedAt: row.endedMs === null ? undefined : timestampFromMs(row.endedMs),
    workflowId: row.workflowId ?? undefined,
    ...(await linkOf(row, shown)),
    nextAttemptAt: row.nextMs === null ? undefined : timestampFromMs(row.nextMs),
    attempts: row.attempts.map((attempt) => attemptOf(attempt, dispatchId, shown)),
  }
}

async function linkOf({ workflowId, isStarted, isRunning, endedMs }: DispatchRow, { workflowLink }: Shown) {
  if (workflowId === null || !isStarted) return {}
  const { url, keptUntilMs } = await workflowLink(workflowId, isRunning ? undefined : (endedMs ?? undefined))
  return {
    workflowUrl: url,
    workflowKeptUntil: keptUntilMs === undefined ? undefined : timestampFromMs(keptUntilMs),
  }
}

/** Dispatches are ordered by the time in their ids; those of the same time by the age of their endpoints. */
const placeOf = ({ id, endpointId }: DispatchRow) => id.slice(0, 13) + endpointId + id

function attemptOf({ number, startedMs, finishedMs, url, ...end }: AttemptRow, dispatchId: string, shown: Shown) {
  const finish =
    finishedMs === null ? {} : { finishedAt: timestampFromMs(finishedMs), durationMs: finishedMs - startedMs }
  const request = finishedMs === null ? undefined : requestOf({ number, startedMs, url }, dispatchId, shown)
  return { number, startedAt: timestampFromMs(startedMs), ...finish, ...shownEnd(end), request }
}

function requestOf(
  { number, startedMs, url }: Pick<AttemptRow, 'number' | 'startedMs' | 'url'>,
  dispatchId: string,
  { request, showsUrls }: Shown,
) {
  if (request === undefined) return undefined
  const eventId = publicId('evt', request.eventId)
  return {
    url: url !== null && showsUrls ? shownUrl(url) : undefined,
    headers: shownHeaders({ eventId, dispatchId, attempt: number, timestamp: timestampOf(startedMs) }),
    body: request.body,
  }
}

/** The URL as it is posted to. */
function shownUrl(url: string): string {
  const { origin, pathname, search } = new URL(url)
  return withMaskedQuery(origin + pathname + search)
}
