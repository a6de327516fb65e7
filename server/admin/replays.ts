import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { Replay, ReplayFilter, ReplayService } from '../../gen/verdict/admin/v1/replays_pb.ts'
import { requesterOf } from '../access/audit/requester.ts'
import { accountOf, traceKey } from '../caller.ts'
import type { Database } from '../db/connect.ts'
import { and, desc, eq } from '../db/drizzle.ts'
import { parsePublicId, timeOfId } from '../db/ids.ts'
import { rangeReplays } from '../db/people-schema.ts'
import { fail, failField } from '../errors.ts'
import type { Backend } from '../services/backend.ts'
import { findEndpoints } from '../webhooks/endpoints/endpoints.ts'
import type { Workflows } from '../webhooks/queue/workflows.ts'
import { countNewest, MAX_EVENTS } from '../webhooks/replays/count-events.ts'
import { spanOf } from '../webhooks/replays/matching-events.ts'
import { readNamedEndpoint, receiversOf } from '../webhooks/replays/receivers.ts'
import { retryDispatch } from '../webhooks/replays/retry-dispatch.ts'
import { cancelReplay, type ReplayRow, type StartReplayParts, startReplay } from '../webhooks/replays/start-replay.ts'
import { personOf } from './person.ts'
import { readFilter } from './replay-filter.ts'
import { shownReplay } from './shown-replays.ts'

const DEFAULT_PER_SECOND = 50
const MAX_PER_SECOND = 1_000
const LISTED = 50

interface ReplayServiceParts extends StartReplayParts, Pick<Backend, 'workflowLink' | 'deliveryViews'> {
  workflows: Pick<Workflows, 'startReplay' | 'retryNow'>
}

export function createReplayService(parts: ReplayServiceParts): ServiceImpl<typeof ReplayService> {
  const { db, clock, workflowLink, deliveryViews } = parts
  const shown = (row: ReplayRow) => shownReplay(db, row, workflowLink)
  return {
    countEvents: (request, context) => countEvents(parts, request.filter, accountOf(context)),
    async startReplay(request, context) {
      const { perSecond = DEFAULT_PER_SECOND } = request
      const filter = readFilter(request.filter, clock)
      if (perSecond < 1 || perSecond > MAX_PER_SECOND) throw failField('per_second', `must be 1 to ${MAX_PER_SECOND}`)
      const isOpenEnded = request.filter?.to === undefined
      const asked = { filter, isOpenEnded, perSecond, createdBy: personOf(context).email }
      const trace = context.values.get(traceKey)
      return { replay: await shown(await startReplay(parts, asked, requesterOf(context.values), trace)) }
    },
    async getReplay({ replayId }, context) {
      return { replay: await shown(await readReplay(db, accountOf(context), replayId)) }
    },
    async listReplays(_, context) {
      const replays: Replay[] = []
      for (const row of await listReplays(db, accountOf(context))) replays.push(await shown(row))
      return { replays }
    },
    async cancelReplay({ replayId }, context) {
      const accountId = accountOf(context)
      const { id } = await readReplay(db, accountId, replayId)
      await cancelReplay(db, id, requesterOf(context.values))
      return { replay: await shown(await readReplay(db, accountId, replayId)) }
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

async function countEvents({ db, clock }: ReplayServiceParts, asked: ReplayFilter | undefined, accountId: string) {
  const filter = readFilter(asked, clock)
  const receivers = receiversOf(filter, await findEndpoints(db, accountId))
  const { count, after } = await countNewest(db, { accountId, filter, receivers }, spanOf(filter, clock))
  const more = count > MAX_EVENTS
  const countedFrom = after === undefined || more ? undefined : timestampFromMs(timeOfId(after))
  return { count: Math.min(count, MAX_EVENTS), more, countedFrom }
}

async function readReplay(db: Database, accountId: string, text: string): Promise<ReplayRow> {
  const id = parsePublicId('rpl', text)
  const [row] = id ? await db.select().from(rangeReplays).where(isReplay(accountId, id)) : []
  if (!row) throw fail('not_found', `There is no replay ${JSON.stringify(text.slice(0, 64))} in this account.`)
  return row
}

/** The newest replays, the newest one first. */
async function listReplays(db: Database, accountId: string): Promise<ReplayRow[]> {
  const rows = await db
    .select()
    .from(rangeReplays)
    .where(eq(rangeReplays.accountId, accountId))
    // A running replay is listed however many have ended since it was started, so that it can be cancelled.
    .orderBy(desc(eq(rangeReplays.state, 'running')), desc(rangeReplays.id))
    .limit(LISTED)
  return rows.toSorted((a, b) => (a.id < b.id ? 1 : -1))
}

const isReplay = (accountId: string, id: string) => and(eq(rangeReplays.id, id), eq(rangeReplays.accountId, accountId))
