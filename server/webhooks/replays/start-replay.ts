import { create, equals, fromJson, toJson } from '@bufbuild/protobuf'
import { type ReplayFilter, ReplayFilterSchema } from '../../../gen/verdict/admin/v1/replays_pb.ts'
import { changeAs, type Requester } from '../../access/audit/change-as.ts'
import { record } from '../../access/audit/record-change.ts'
import { refuseMore } from '../../access/running-work.ts'
import type { DatabaseClock } from '../../db/clock.ts'
import type { Database, Transaction } from '../../db/connect.ts'
import { and, eq, sql } from '../../db/drizzle.ts'
import { newId, publicId } from '../../db/ids.ts'
import { lockAccount } from '../../db/lock-account.ts'
import { rangeReplays } from '../../db/people-schema.ts'
import { one } from '../../db/statement.ts'
import { fail, failField } from '../../errors.ts'
import { NO_TRACING, type Trace, type Tracing } from '../../telemetry/tracing.ts'
import { type Endpoint, findEndpoints, noEnabledEndpoint } from '../endpoints/endpoints.ts'
import type { Workflows } from '../queue/workflows.ts'
import { countEvents, MAX_EVENTS } from './count-events.ts'
import { type ReadFilter, spanOf } from './matching-events.ts'
import { rangeReplayOf } from './range-replays.ts'
import { receiversOf } from './receivers.ts'
import { REFUSED, traceOfReplay } from './replay.ts'

export interface StartReplayParts {
  db: Database
  clock: DatabaseClock
  workflows: Pick<Workflows, 'startReplay'>
  tracing?: Tracing
  /** Is called with errors that did not fail a call. */
  report(error: unknown): void
}

export type ReplayRow = typeof rangeReplays.$inferSelect

/** A replay that a person asks for. */
interface AskedReplay extends Pick<ReplayRow, 'perSecond' | 'createdBy' | 'isOpenEnded'> {
  filter: ReadFilter
}

/** Starts the replay of the events that match a filter, or returns the running one that has the same filter. */
export async function startReplay(
  parts: StartReplayParts,
  { filter, ...asked }: AskedReplay,
  requester: Requester,
  request?: Trace,
): Promise<ReplayRow> {
  const { db, clock } = parts
  const { accountId } = requester
  const endpoints = await findEndpoints(db, accountId)
  const receivers = receiversOf(filter, endpoints)
  if (receivers.length === 0) throw noReceiver(filter, endpoints)
  const replay = { ...asked, accountId, filter: toJson(ReplayFilterSchema, filter) }
  const running = await findRunning(db, replay)
  if (running) return running
  const span = spanOf(filter, clock)
  const total = await countEvents(db, { accountId, filter, receivers }, span)
  if (total > MAX_EVENTS) throw failField('filter', 'matches more than 1,000,000 events. Replay a shorter time first')
  const newReplay = { ...replay, id: newId(clock.now()), total, state: 'running' as const, doneUntil: span.after }
  const { row, isNew, author } = await changeAs(db, requester, async (tx, author) => {
    await lockAccount(tx, accountId)
    const running = await findRunning(tx, replay)
    if (running) return { row: running, isNew: false, author }
    const row = one(await tx.insert(rangeReplays).values(newReplay).returning())
    const after = { filter: replay.filter, per_second: replay.perSecond, total }
    await record(tx, { ...author, action: 'replay.start', target: publicId('rpl', row.id), after })
    return { row, isNew: true, author }
  })
  if (isNew) await startWorkflow(parts, row, author, request)
  return row
}

/** Why no endpoint receives the events of a replay. */
function noReceiver({ endpointId }: ReadFilter, endpoints: readonly Endpoint[]) {
  if (endpointId !== undefined) return failField('filter.endpoint_id', 'is not an endpoint of this account')
  return noEnabledEndpoint(endpoints)
}

/**
 * Finds the running replay that has the same filter; undefined when the account may start another one. Throws
 * `rate_limit_exceeded` when it has as many as it may.
 */
async function findRunning(
  db: Database | Transaction,
  asked: Pick<ReplayRow, 'accountId' | 'filter' | 'isOpenEnded'>,
): Promise<ReplayRow | undefined> {
  const running = await db
    .select()
    .from(rangeReplays)
    .where(and(eq(rangeReplays.accountId, asked.accountId), eq(rangeReplays.state, 'running')))
  const same = running.find((row) => equals(ReplayFilterSchema, givenFilter(row), givenFilter(asked)))
  if (!same) refuseMore('replay', running.length)
  return same
}

/** The filter as the caller gave it. */
function givenFilter({ filter, isOpenEnded }: Pick<ReplayRow, 'filter' | 'isOpenEnded'>): ReplayFilter {
  const given = fromJson(ReplayFilterSchema, filter)
  return isOpenEnded ? create(ReplayFilterSchema, { ...given, to: undefined }) : given
}

/**
 * Starts the workflow of a replay that is committed. If the start fails, the replay is cancelled, unless its workflow
 * runs nevertheless. After a crash in between, the workers start it.
 */
async function startWorkflow(
  { db, workflows, tracing = NO_TRACING, report }: StartReplayParts,
  replay: ReplayRow,
  requester: Requester,
  request: Trace | undefined,
): Promise<void> {
  try {
    await workflows.startReplay(rangeReplayOf(replay), traceOfReplay(tracing, request?.traceparent))
  } catch (cause) {
    report(cause)
    const isCancelled = await cancelReplay(db, replay.id, requester, { dispatched: 0 }).catch((cause) => {
      throw fail('transient_failure', UNKNOWN, { cause })
    })
    if (isCancelled) throw fail('transient_failure', REFUSED, { cause })
  }
}

const UNKNOWN = 'It is not known whether the replay was started. The list of replays shows it.'

/**
 * Cancels a replay that runs, if it has these counts. Returns false when there is nothing to cancel. Its workflow finds
 * the state at its next step, at most seconds later.
 */
export function cancelReplay(
  db: Database,
  id: string,
  requester: Requester,
  counts?: { dispatched: number },
): Promise<boolean> {
  const { state, dispatched } = rangeReplays
  const isIt = and(eq(rangeReplays.id, id), eq(state, 'running'), counts && eq(dispatched, counts.dispatched))
  return changeAs(db, requester, async (tx, author) => {
    const endedAt = sql`clock_timestamp()`
    const [ended] = await tx
      .update(rangeReplays)
      .set({ state: 'cancelled', endedAt })
      .where(isIt)
      .returning({ dispatched })
    if (!ended) return false
    const change = { before: { state: 'running' }, after: { state: 'cancelled', ...ended } }
    await record(tx, { ...author, action: 'replay.cancel', target: publicId('rpl', id), ...change })
    return true
  })
}
