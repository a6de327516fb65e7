import { create, fromJson } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import {
  type Replay,
  ReplayFilterSchema,
  ReplaySchema,
  ReplayStateSchema,
} from '../../gen/verdict/admin/v1/replays_pb.ts'
import type { Database } from '../db/connect.ts'
import { enumNames } from '../db/enum-names.ts'
import { publicId } from '../db/ids.ts'
import { one, run, UNPREPARED } from '../db/statement.ts'
import type { LinkWorkflow } from '../webhooks/queue/workflows.ts'
import { dispatchIdsOf, replayWorkflowId } from '../webhooks/replays/replay-ids.ts'
import type { ReplayRow } from '../webhooks/replays/start-replay.ts'

const stateNames = enumNames(ReplayStateSchema)

// This statement is not prepared: only a plan made for these ids reads the one day that holds them.
const COUNTS = `
  select
    (select count(*)::int from dispatches where id between $1 and $2 and state = 'acknowledged') as acknowledged,
    (select count(*)::int from open_dispatches where id between $1 and $2) as waiting`

const KEEP_ACKNOWLEDGED = `
  update range_replays set acknowledged = $2 where id = $1 and state <> 'running' and acknowledged is null`

/**
 * Counts the acknowledged and the waiting dispatches of a replay. The count is kept once no dispatch waits any more, so
 * that a list of replays that are over reads only their rows.
 */
async function countDispatches(
  db: Database,
  { id, state, dispatched, acknowledged }: ReplayRow,
): Promise<Pick<Replay, 'acknowledged' | 'waiting'>> {
  if (acknowledged !== null) return { acknowledged, waiting: 0 }
  if (dispatched === 0) return { acknowledged: 0, waiting: 0 }
  const { first, last } = dispatchIdsOf(id)
  const counts = one(await run<Pick<Replay, 'acknowledged' | 'waiting'>>(db, COUNTS, [first, last], UNPREPARED))
  if (state !== 'running' && counts.waiting === 0) await run(db, KEEP_ACKNOWLEDGED, [id, counts.acknowledged])
  return counts
}

/** A replay as the dashboard shows it. */
export async function shownReplay(db: Database, row: ReplayRow, workflowLink: LinkWorkflow): Promise<Replay> {
  return create(ReplaySchema, {
    replayId: publicId('rpl', row.id),
    filter: fromJson(ReplayFilterSchema, row.filter),
    perSecond: row.perSecond,
    state: stateNames.value(row.state),
    total: row.total,
    dispatched: row.dispatched,
    ...(await countDispatches(db, row)),
    createdAt: timestampFromDate(row.createdAt),
    endedAt: row.endedAt ? timestampFromDate(row.endedAt) : undefined,
    createdBy: row.createdBy,
    workflowUrl: (await workflowLink(replayWorkflowId(row.id), row.endedAt?.getTime())).url,
  })
}
