import { toJson } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { ReplayFilterSchema, type ReplayService } from '../../gen/verdict/admin/v1/replays_pb.ts'
import { changeAs, type Requester } from '../access/audit/change-as.ts'
import { type Author, record } from '../access/audit/record-change.ts'
import { requesterOf } from '../access/audit/requester.ts'
import { accountOf, callerKey, traceKey } from '../caller.ts'
import { and, desc, eq, sql } from '../db/drizzle.ts'
import { newId, parsePublicId, publicId, timeOfId } from '../db/ids.ts'
import { lockAccount } from '../db/lock-account.ts'
import { rangeReplays } from '../db/people-schema.ts'
import { fail, failField } from '../errors.ts'
import type { Backend } from '../services/backend.ts'
import { readNamedEndpoint } from '../services/replay-receivers.ts'
import { NO_TRACING, type Trace } from '../telemetry/tracing.ts'
import { type Endpoint, findEndpoints } from '../webhooks/endpoints/endpoints.ts'
import type { Workflows } from '../webhooks/queue/workflows.ts'
import {
  type IdSpan,
  matches,
  type ReadFilter,
  type Receiver,
  receiversOf,
  spanOf,
} from '../webhooks/replays/matching-events.ts'
import { replayOfMany } from '../webhooks/replays/range-replays.ts'
import { noEnabledEndpoint, traceOfReplay } from '../webhooks/replays/replay.ts'
import { retryDispatch } from '../webhooks/replays/retry-dispatch.ts'
import { countEvents, countNewest, MAX_EVENTS } from './count-events.ts'
import { readFilter } from './replay-filter.ts'
import { findRunning, type ReplayRow } from './running-replays.ts'
import { shownReplay } from './shown-replays.ts'

const DEFAULT_PER_SECOND = 50
const MAX_PER_SECOND = 1_000
const LISTED = 50

export interface ReplayServiceParts
  extends Pick<Backend, 'db' | 'clock' | 'tracing' | 'workflowLink' | 'deliveryViews'> {
  workflows: Pick<Workflows, 'startReplay' | 'retryNow'>
  /** Is called with errors that did not fail a call. */
  report(error: unknown): void
}

export function createReplayService(parts: ReplayServiceParts): ServiceImpl<typeof ReplayService> {
  const { db, clock, workflows, workflowLink, deliveryViews, tracing = NO_TRACING, report } = parts
  const shown = (row: ReplayRow) => shownReplay(db, row, workflowLink)

  async function readReplay(accountId: string, text: string): Promise<ReplayRow> {
    const id = parsePublicId('rpl', text)
    const [row] = id ? await db.select().from(rangeReplays).where(isReplay(accountId, id)) : []
    if (!row) throw fail('not_found', `There is no replay ${JSON.stringify(text.slice(0, 64))} in this account.`)
    return row
  }

  const counted = (accountId: string, filter: ReadFilter, receivers: readonly Receiver[]) => ({
    db,
    span: spanOf(filter, clock),
    where: (span: IdSpan) => matches(accountId, filter, receivers, span),
  })

  /**
   * Starts the workflow of a replay that is committed. If the start fails, the replay is cancelled, unless its workflow
   * runs nevertheless. After a crash in between, the workers start it.
   */
  async function start(replay: ReplayRow, author: Author, request?: Trace): Promise<void> {
    try {
      await workflows.startReplay(replayOfMany(replay), traceOfReplay(tracing, request?.traceparent))
    } catch (cause) {
      report(cause)
      const isCancelled = await cancel(replay.id, author, { dispatched: 0 }).catch((cause) => {
        throw fail('transient_failure', UNKNOWN, { cause })
      })
      if (isCancelled) throw fail('transient_failure', REFUSED, { cause })
    }
  }

  /** Cancels a replay that runs, if it has these counts. Returns false when there is nothing to cancel. */
  function cancel(id: string, requester: Requester, counts?: { dispatched: number }): Promise<boolean> {
    return changeAs(db, requester, async (tx, author) => {
      const [ended] = await tx
        .update(rangeReplays)
        .set({ state: 'cancelled', endedAt: sql`clock_timestamp()` })
        .where(
          and(
            eq(rangeReplays.id, id),
            eq(rangeReplays.state, 'running'),
            counts && eq(rangeReplays.dispatched, counts.dispatched),
          ),
        )
        .returning({ dispatched: rangeReplays.dispatched })
      if (!ended) return false
      const change = { before: { state: 'running' }, after: { state: 'cancelled', ...ended } }
      await record(tx, { ...author, action: 'replay.cancel', target: publicId('rpl', id), ...change })
      return true
    })
  }

  return {
    async countEvents(request, context) {
      const accountId = accountOf(context)
      const filter = readFilter(request.filter, clock)
      const receivers = receiversOf(filter, await findEndpoints(db, accountId))
      const { count, after } = await countNewest(counted(accountId, filter, receivers))
      const more = count > MAX_EVENTS
      const countedFrom = after === undefined || more ? undefined : timestampFromMs(timeOfId(after))
      return { count: Math.min(count, MAX_EVENTS), more, countedFrom }
    },

    async startReplay(request, context) {
      const { accountId, person } = context.values.get(callerKey)!
      const { perSecond = DEFAULT_PER_SECOND } = request
      const filter = readFilter(request.filter, clock)
      if (perSecond < 1 || perSecond > MAX_PER_SECOND) throw failField('per_second', `must be 1 to ${MAX_PER_SECOND}`)
      const endpoints = await findEndpoints(db, accountId)
      const receivers = receiversOf(filter, endpoints)
      if (receivers.length === 0) throw noReceiver(filter, endpoints)
      const asked = { filter: toJson(ReplayFilterSchema, filter), isOpenEnded: request.filter!.to === undefined }
      const running = await findRunning(db, accountId, asked)
      if (running) return { replay: await shown(running) }
      const total = await countEvents(counted(accountId, filter, receivers))
      if (total > MAX_EVENTS)
        throw failField('filter', 'matches more than 1,000,000 events. Replay a shorter time first')
      const id = newId(clock.now())
      const doneUntil = spanOf(filter, clock).after
      const newReplay = { id, accountId, perSecond, total, ...asked, doneUntil, createdBy: person!.email }
      const { row, isNew, author } = await changeAs(db, requesterOf(context.values), async (tx, author) => {
        await lockAccount(tx, accountId)
        const running = await findRunning(tx, accountId, asked)
        if (running) return { row: running, isNew: false, author }
        const [row] = await tx
          .insert(rangeReplays)
          .values({ ...newReplay, state: 'running' })
          .returning()
        const after = { filter: asked.filter, per_second: perSecond, total }
        await record(tx, { ...author, action: 'replay.start', target: publicId('rpl', id), after })
        return { row: row!, isNew: true, author }
      })
      if (isNew) await start(row, author, context.values.get(traceKey))
      return { replay: await shown(row) }
    },

    async getReplay({ replayId }, context) {
      return { replay: await shown(await readReplay(accountOf(context), replayId)) }
    },

    async listReplays(_, context) {
      const accountId = accountOf(context)
      const rows = await db
        .select()
        .from(rangeReplays)
        .where(eq(rangeReplays.accountId, accountId))
        // A running replay is listed however many have ended since it was started, so that it can be cancelled.
        .orderBy(desc(eq(rangeReplays.state, 'running')), desc(rangeReplays.id))
        .limit(LISTED)
      const newestFirst = rows.toSorted((a, b) => (a.id < b.id ? 1 : -1))
      return { replays: await Promise.all(newestFirst.map(shown)) }
    },

    async cancelReplay({ replayId }, context) {
      const accountId = accountOf(context)
      const { id } = await readReplay(accountId, replayId)
      // Its workflow finds the state at its next step, at most seconds later.
      await cancel(id, requesterOf(context.values))
      return { replay: await shown(await readReplay(accountId, replayId)) }
    },

    async listDeliveryViews({ endpointId }, context) {
      const accountId = accountOf(context)
      const id = endpointId === undefined ? undefined : await readNamedEndpoint(db, accountId, endpointId)
      return { views: deliveryViews({ accountId, endpointId: id }) }
    },

    async retryDispatch({ dispatchId }, context) {
      await retryDispatch(parts, accountOf(context), dispatchId)
      return {}
    },
  }
}

/** Why no endpoint receives the events of a replay. */
function noReceiver({ endpointId }: ReadFilter, endpoints: readonly Endpoint[]) {
  if (endpointId !== undefined) return failField('filter.endpoint_id', 'is not an endpoint of this account')
  return noEnabledEndpoint(endpoints)
}

const isReplay = (accountId: string, id: string) => and(eq(rangeReplays.id, id), eq(rangeReplays.accountId, accountId))

const REFUSED = 'The replay could not be started in Temporal. Nothing was dispatched; it is safe to retry.'
const UNKNOWN = 'It is not known whether the replay was started. The list of replays shows it.'
