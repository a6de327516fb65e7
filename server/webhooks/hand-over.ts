import { jsonArray } from '../db/collector.ts'
import type { Database } from '../db/connect.ts'
import { showId } from '../db/ids.ts'
import { every } from '../every.ts'
import { ENDED_NOW, intoDispatchHistory } from './end.ts'
import { groupDispatches, type Waiting } from './groups.ts'
import type { Group, Workflows } from './workflows.ts'

const EVERY_MS = 500
/** Rows that one round assigns, and workflows that it starts or looks for. */
const ROWS_A_ROUND = 2_000
const WORKFLOWS_A_ROUND = 100
const STARTS_AT_A_TIME = 10
/** An attempt that is overdue by so much although a workflow has it: the workflow is looked for, again and again. */
const OVERDUE_MS = 120_000

export interface HandOverParts {
  db: Database
  workflows: Workflows
  /** Delays before each attempt. */
  scheduleMs: readonly number[]
  overdueMs?: number
  /** Hears of what was done, and of rounds that failed; the next one tries again. */
  report(done: HandedOver | { error: unknown }): void
}

export interface HandedOver {
  /** Workflows that were started, and how many of them in the place of one that was gone. */
  started: number
  revived: number
}

/**
 * Hands dispatches to workflows that nobody works on: first attempts that failed, or that were never made because of a crash or too
 * much at once. Also starts the workflows again that were not known to be started, and those that are gone although attempts are
 * overdue. Runs in any number of processes. While Temporal is away, the rows wait.
 */
export function keepHandingOver(parts: HandOverParts): { stop(): void } {
  async function round(): Promise<void> {
    await parts.db.$client.unsafe(GIVE_UP_LOST, [], { prepare: true })
    await parts.db.$client.unsafe(CANCEL_ORPHANS, [], { prepare: true })
    await assign(parts.db, parts.scheduleMs)
    const revived = await revive(parts.db, parts.workflows, parts.overdueMs ?? OVERDUE_MS)
    const started = await startAssigned(parts.db, parts.workflows)
    if (started > 0) parts.report({ started, revived })
  }
  return every(EVERY_MS, round, (error) => parts.report({ error }))
}

// Where the lease of a first attempt is over, the process that held it is gone, and nobody knows whether it had posted.
export const GIVE_UP_LOST = `
  with lost as (
    update open_dispatches set lease_until = null where lease_until < clock_timestamp() and workflow_id is null
    returning id, created_at
  )
  insert into attempts (dispatch_id, number, started_at, outcome) select id, 1, created_at, 'unknown' from lost
  on conflict do nothing`

// Their endpoint was deleted during their first attempt, which failed or was left to a workflow.
export const CANCEL_ORPHANS = `
  with orphan as materialized (
    select id from open_dispatches d
    where workflow_id is null and lease_until is null
      and not exists (select from webhook_endpoints w where w.account_id = d.account_id)
    order by id for update skip locked
  ),
  cancelled as (
    delete from open_dispatches d using orphan o where d.id = o.id returning d.*
  )
  ${intoDispatchHistory('cancelled', "'cancelled'", ENDED_NOW)}`

const TIMES = `
  (extract(epoch from due_at) * 1000)::float8 as "dueMs", (extract(epoch from deadline_at) * 1000)::float8 as "deadlineMs"`

export const UNASSIGNED = `
  select id, account_id as "accountId", attempt, ${TIMES},
    (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs"
  from open_dispatches
  where workflow_id is null and lease_until is null
  order by account_id, attempt, due_at limit ${ROWS_A_ROUND}
  for update skip locked`

export const ASSIGN = `
  with input as (select * from json_to_recordset($1::json) as r(id uuid, workflow_id text))
  update open_dispatches d set workflow_id = i.workflow_id from input i where d.id = i.id`

/** Commits the ids of the workflows onto the rows that they will take on. */
async function assign(db: Database, scheduleMs: readonly number[]): Promise<void> {
  await db.$client.begin(async (transaction) => {
    const rows = await transaction.unsafe<(Waiting & { nowMs: number })[]>(UNASSIGNED, [], { prepare: true })
    if (rows.length === 0) return
    const groups = groupDispatches(rows, rows[0]!.nowMs, scheduleMs)
    const assigned = groups.flatMap((group) => {
      const workflow_id = `webhook-${showId('dsp', group[0]!.id)}-${group[0]!.attempt}`
      return group.map(({ id }) => ({ json: JSON.stringify({ id, workflow_id }) }))
    })
    await transaction.unsafe(ASSIGN, [jsonArray(assigned)], { prepare: true })
  })
}

// A replay is started by the call that asked for it; when that has not come about in ten seconds, the call is gone.
export const ASSIGNED = `
  with unstarted as materialized (
    select distinct workflow_id from open_dispatches
    where workflow_id is not null and handed_over_at is null
      and (kind = 'original' or created_at < clock_timestamp() - interval '10 seconds')
    limit ${WORKFLOWS_A_ROUND}
  )
  select d.workflow_id as "workflowId", d.kind, d.id, d.event_id as "eventId", d.message_id as "messageId", d.account_id as "accountId",
    d.attempt, ${TIMES}, w.url,
    a.outcome, a.status_code as "statusCode"
  from unstarted u
  join open_dispatches d on d.workflow_id = u.workflow_id
  left join webhook_endpoints w on w.account_id = d.account_id
  left join lateral (
    select outcome, status_code from attempts a where a.dispatch_id = d.id and a.number = d.attempt - 1
    order by started_at desc limit 1
  ) a on true
  order by d.workflow_id, d.id`

interface AssignedRow {
  workflowId: string
  kind: Group['kind']
  id: string
  eventId: string
  messageId: string
  accountId: string
  attempt: number
  dueMs: number
  deadlineMs: number
  url: string | null
  /** Of the attempt before. */
  outcome: string | null
  statusCode: number | null
}

/**
 * Starts what is not known to be started, each with all rows that have its id. Throws when some could not be, and stops when none of
 * several could: Temporal is away.
 */
async function startAssigned(db: Database, workflows: Workflows): Promise<number> {
  const rows = await db.$client.unsafe<AssignedRow[]>(ASSIGNED, [], { prepare: true })
  const groups = [...Map.groupBy(rows, (row) => row.workflowId).values()].map(groupOf)
  let failure: PromiseRejectedResult | undefined
  for (let from = 0; from < groups.length; from += STARTS_AT_A_TIME) {
    const some = groups.slice(from, from + STARTS_AT_A_TIME)
    const results = await Promise.allSettled(some.map((group) => workflows.start(group)))
    const started = some.filter((_, i) => results[i]!.status === 'fulfilled')
    await handedOver(
      db,
      started.map(({ workflowId }) => workflowId),
    )
    failure ??= results.find((result) => result.status === 'rejected')
    if (results.every((result) => result.status === 'rejected')) break
  }
  if (failure) throw failure.reason
  return groups.length
}

/** Rows of one workflow. They may stand at different attempts when it takes the place of another: it begins with the earliest. */
function groupOf(rows: AssignedRow[]): Group {
  const [{ workflowId, kind, accountId, url }] = rows as [AssignedRow]
  return {
    workflowId,
    kind,
    dispatchIds: rows.map((row) => row.id),
    eventIds: rows.map((row) => row.eventId),
    messageIds: [...new Set(rows.map((row) => row.messageId))],
    accountId,
    endpointHost: url === null ? '' : new URL(url).host,
    attempt: Math.min(...rows.map((row) => row.attempt)),
    dueMs: Math.max(...rows.map((row) => row.dueMs)),
    deadlineMs: Math.max(...rows.map((row) => row.deadlineMs)),
    answers: rows.flatMap(({ outcome, statusCode }) =>
      outcome === null ? [] : [{ outcome, statusCode: statusCode ?? undefined }],
    ),
  }
}

export const HANDED_OVER = `
  update open_dispatches set handed_over_at = clock_timestamp() where workflow_id = any($1::text[]) and handed_over_at is null`

/** Writes down that these workflows are started. */
export async function handedOver(db: Database, workflowIds: string[]): Promise<void> {
  if (workflowIds.length > 0) await db.$client.unsafe(HANDED_OVER, [`{${workflowIds}}`], { prepare: true })
}

export const LOOK = `
  with overdue as materialized (
    select distinct workflow_id from open_dispatches
    where workflow_id is not null and handed_over_at is not null and due_at < clock_timestamp() - $1 * interval '1 millisecond'
      and (looked_at is null or looked_at < clock_timestamp() - $1 * interval '1 millisecond')
    limit ${WORKFLOWS_A_ROUND}
  )
  update open_dispatches d set looked_at = clock_timestamp() from overdue o where d.workflow_id = o.workflow_id
  returning d.workflow_id as id`

// The new id is another one, which Temporal does not know, and the same in all processes that look at the same moment.
export const REVIVE = `
  update open_dispatches set workflow_id = workflow_id || '-r', handed_over_at = null, looked_at = null
  where workflow_id = any($1::text[])`

/** Assigns dispatches anew whose workflow was terminated by hand, or lost with Temporal's history. */
async function revive(db: Database, workflows: Workflows, overdueMs: number): Promise<number> {
  const rows = await db.$client.unsafe(LOOK, [overdueMs], { prepare: true })
  const ids = [...new Set(rows.map((row) => row.id as string))]
  const closed = ids.length > 0 ? await workflows.closed(ids) : []
  if (closed.length > 0) await db.$client.unsafe(REVIVE, [`{${closed}}`], { prepare: true })
  return closed.length
}
