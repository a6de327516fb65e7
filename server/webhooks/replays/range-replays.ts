import { fromJson } from '@bufbuild/protobuf'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import { ReplayFilterSchema } from '../../../gen/verdict/admin/v1/replays_pb.ts'
import type { Database } from '../../db/connect.ts'
import { and, asc, between, eq, getTableColumns, sql } from '../../db/drizzle.ts'
import { firstIdAt, parsePublicId, timeOfId } from '../../db/ids.ts'
import { rangeReplays } from '../../db/people-schema.ts'
import { events, openDispatches } from '../../db/schema.ts'
import { one, run, uuidArray } from '../../db/statement.ts'
import { NO_TRACING, type Tracing } from '../../telemetry/tracing.ts'
import { findEndpoints } from '../endpoints/endpoints.ts'
import { markHandedOver, startGroups } from '../queue/hand-over.ts'
import type { RangeReplay, Workflows } from '../queue/workflows.ts'
import { type IdSpan, isIn, matches, type ReadFilter, type Receiver, receivingIds } from './matching-events.ts'
import { receiversOf } from './receivers.ts'
import {
  groupsOf,
  insertReplays,
  jsonOf,
  OPENED_ENDPOINTS,
  type OpenedEndpoint,
  type ReplayedEvent,
  rowsOf,
  traceOfReplay,
} from './replay.ts'
import { dispatchIdsOf, replayDispatchId } from './replay-ids.ts'

/** The progress of a replay after a step. Histories of workflows store its fields, which keep their names. */
export interface ReplayStep {
  state: 'running' | 'finished' | 'cancelled' | 'failed'
  dispatched: number
  total: number
  /** How long after the end of this step the next one begins. */
  waitMs: number
}

interface RangeReplaysParts {
  db: Database
  workflows: Workflows
  tracing?: Tracing
  /** Is called with errors that do not fail a step. The hand-over loop repairs what they leave. */
  report(error: unknown): void
}

/**
 * An event may be committed this long after the time in its id: a statement takes 15 s at most. Only events that are
 * older are dispatched, so that none is committed behind a replay that has passed it.
 */
const SETTLED_MS = 20_000
/** While this number of dispatches of a replay wait for the endpoint, no more are added to them. */
const MAX_WAITING = 5_000
const FULL_WAIT_MS = 5_000
/** One step looks at no more events, and one statement at no more days: it takes a fraction of a second. */
const STEP_EVENTS = 50_000
const STEP_MS = 7 * 86_400_000

// The condition on done_until makes this exactly once: of two processes at the same step, one finds it done. The
// endpoints are part of it, so no event counts as dispatched that lacks a dispatch.
export const DISPATCH_RANGE = `
  with replay as (
    update range_replays r set done_until = $4, dispatched = dispatched + $7::int, state = $6,
      ended_at = case when $6 <> 'running' then clock_timestamp() end
    where r.id = $1 and r.state = 'running' and r.done_until = $3
      and not exists (
        select from unnest($8::uuid[]) as wanted(id)
        where not exists (select from webhook_endpoints w where w.id = wanted.id and w.account_id = $2))
    returning r.id
  ),
  opened as (
    ${insertReplays('$5', '$2')} cross join replay
    returning endpoint_id
  )
  select (select count(*)::int from replay) as "isStored", coalesce((
    select json_agg(e) from (${OPENED_ENDPOINTS}) as e), '[]') as endpoints`

/** The replays of many events, as their workflow runs them. Ids are UUIDs. */
export function createRangeReplays({ db, workflows, tracing = NO_TRACING, report }: RangeReplaysParts) {
  /** Dispatches the next events of a replay, as many as its pace allows in a second. */
  async function dispatchNext(replayId: string): Promise<ReplayStep> {
    const replay = await findReplay(db, replayId)
    if (replay === undefined) return { state: 'cancelled', dispatched: 0, total: 0, waitMs: 0 }
    const { state, dispatched, total, filter, perSecond, accountId } = replay
    const still = (waitMs: number): ReplayStep => ({ state, dispatched, total, waitMs })
    if (state !== 'running') return still(0)
    const receivers = receiversOf(filter, await findEndpoints(db, accountId))
    if (receivers.length === 0) return { ...still(0), state: await endReplay(db, replayId, 'failed') }
    const places = Math.min(perSecond, MAX_WAITING - (await countWaiting(db, replayId)))
    if (places <= 0) return still(FULL_WAIT_MS)
    const part = await nextPart(db, { ...replay, receivers }, places)
    if (part.waitMs > 0) return still(part.waitMs)

    const rows = rowsOf(part.events, {
      idOf: (event, endpoint) => replayDispatchId(replayId, dispatched + event, endpoint),
      maxGroup: workflows.maxGroup,
      beginTrace: () => traceOfReplay(tracing, tracing.active()),
    })
    const newState = part.isLast ? 'finished' : 'running'
    const count = part.events.length
    const endpointIds = uuidArray([...new Set(rows.map(({ endpointId }) => endpointId))])
    const step = [replayId, accountId, replay.doneUntil, part.doneUntil, jsonOf(rows), newState, count, endpointIds]
    const { isStored, endpoints } = one(
      await run<{ isStored: number; endpoints: OpenedEndpoint[] }>(db, DISPATCH_RANGE, step),
    )
    // Another process has made this step, or the replay or an endpoint has ended: the next step finds out.
    if (!isStored) return still(0)
    // The hand-over loop starts the workflows that do not start now.
    const started = await startGroups(workflows, groupsOf(rows, accountId, endpoints), report)
    await markHandedOver(db, started).catch(report)
    const paceMs = Math.ceil((count * 1_000) / perSecond)
    return { state: newState, dispatched: dispatched + count, total, waitMs: part.isLast ? 0 : paceMs }
  }

  return { dispatchNext, cancel: (replayId: string) => endReplay(db, replayId, 'cancelled') }
}

const END_REPLAY = `
  update range_replays set state = $2, ended_at = clock_timestamp() where id = $1 and state = 'running'
  returning id`

/** Ends a replay that runs. Returns the state. */
async function endReplay<State extends 'cancelled' | 'failed'>(
  db: Database,
  replayId: string,
  state: State,
): Promise<State> {
  await run(db, END_REPLAY, [replayId, state])
  return state
}

/** Reads a replay, and the time. */
async function findReplay(db: Database, replayId: string) {
  const { id, accountId, filter, perSecond, state, total, dispatched, doneUntil } = getTableColumns(rangeReplays)
  const nowMs = sql<number>`(extract(epoch from clock_timestamp()) * 1000)::float8`
  const [row] = await db
    .select({
      ...{ id, accountId, filter, perSecond, state, total, dispatched, doneUntil },
      nowMs,
    })
    .from(rangeReplays)
    .where(eq(id, replayId))
  return row && { ...row, filter: fromJson(ReplayFilterSchema, row.filter) as ReadFilter }
}

type FoundReplay = NonNullable<Awaited<ReturnType<typeof findReplay>>>

async function countWaiting(db: Database, replayId: string): Promise<number> {
  const { first, last } = dispatchIdsOf(replayId)
  return db.$count(openDispatches, between(openDispatches.id, first, last))
}

interface Part {
  events: ReplayedEvent[]
  /** The id up to which the replay is done with this part. */
  doneUntil: string
  isLast: boolean
  /** How long until the next events are old enough. */
  waitMs: number
}

type PushedReplay = FoundReplay & { receivers: readonly Receiver[] }

/** Reads the next events of a replay, the oldest first. Days without any are passed over. */
async function nextPart(db: Database, replay: PushedReplay, limit: number): Promise<Part> {
  const { doneUntil, nowMs, filter } = replay
  const toMs = timestampMs(filter.to)
  const settledMs = Math.floor(nowMs) - SETTLED_MS
  for (let after = doneUntil; ; ) {
    const endMs = Math.min(toMs, settledMs, timeOfId(after) + STEP_MS)
    const until = firstIdAt(endMs)
    // What is left is too young. One wait is enough: the end of the replay is not later than its start.
    if (until <= after && endMs < toMs) return { events: [], doneUntil, isLast: false, waitMs: toMs - settledMs }
    const looked = await lookAhead(db, replay, { after, until }, limit)
    const isLast = looked.doneUntil === firstIdAt(toMs)
    if (looked.events.length > 0 || isLast || looked.doneUntil < until) return { ...looked, isLast, waitMs: 0 }
    after = until
  }
}

/** Reads matching events in a span, and up to which id of it there are no others. */
async function lookAhead(
  db: Database,
  replay: PushedReplay,
  span: IdSpan,
  limit: number,
): Promise<Pick<Part, 'events' | 'doneUntil'>> {
  const [farthest] = await db
    .select({ id: events.id })
    .from(events)
    .where(and(eq(events.accountId, replay.accountId), isIn(span)))
    .orderBy(asc(events.id))
    .offset(STEP_EVENTS - 1)
    .limit(1)
  const looked = { ...span, until: farthest?.id ?? span.until }
  const found = await db
    .select({ id: events.id, messageId: events.messageId, endpointIds: receivingIds(replay, looked) })
    .from(events)
    .where(matches(replay, looked))
    .orderBy(asc(events.id))
    .limit(limit)
  return { events: found, doneUntil: found[limit - 1]?.id ?? looked.until }
}

/**
 * Starts the workflows of running replays again. A running workflow is not changed. A workflow is missing after a crash
 * between the commit of the replay and its start, or when Temporal lost its history.
 */
export async function resumeReplays(db: Database, workflows: Pick<Workflows, 'startReplay'>): Promise<void> {
  const { id, accountId, filter, total, state } = rangeReplays
  const running = await db.select({ id, accountId, filter, total }).from(rangeReplays).where(eq(state, 'running'))
  for (const replay of running) await workflows.startReplay(rangeReplayOf(replay))
}

type StoredReplay = Pick<typeof rangeReplays.$inferSelect, 'id' | 'accountId' | 'filter' | 'total'>

/** A replay as its workflow is started. */
export function rangeReplayOf({ id, accountId, filter, total }: StoredReplay): RangeReplay {
  const { endpointId } = fromJson(ReplayFilterSchema, filter)
  return { id, accountId, endpointId: endpointId && parsePublicId('whk', endpointId), total }
}
