import { runEvery } from '../../async/run-every.ts'
import { jsonArray } from '../../db/collector.ts'
import type { Database } from '../../db/connect.ts'
import { inMs, run, UNPREPARED } from '../../db/statement.ts'
import { ENDED_NOW, intoDispatchHistory, MAX_CANCELLED, unknownAttempts } from '../attempt/end.ts'
import type { StoredOutcome } from '../post/post-outcomes.ts'
import { groupDispatches, type PendingDispatch } from './groups.ts'
import { createRevive, type ReviveLimits } from './revive.ts'
import { workflowIdOf } from './workflow-ids.ts'
import type { Group, Workflows } from './workflows.ts'

const EVERY_MS = 500
/**
 * The most workflows that wait for their start, and that one pass starts. Dispatches beyond them are assigned later, in
 * larger groups.
 */
const WORKFLOWS_PER_PASS = 100
const STARTS_AT_A_TIME = 10
/** A lease of a first attempt is over this long after the time of its dispatch's id, and its commit was before. */
const LATEST_COMMIT_MS = 60_000
/** Longer than a dispatch waits. */
const ALL_MS = 48 * 3_600_000
/** Finds leases of a time before the worker, or before a jump of the database's clock. */
const ALL_EVERY_MS = 10 * 60_000

interface HandOverParts extends Partial<ReviveLimits> {
  db: Database
  workflows: Workflows
  /** The retry schedule: the delay before each attempt. */
  scheduleMs: readonly number[]
  /** Wraps each pass, to count it. */
  wrap?(pass: () => Promise<void>): () => Promise<void>
  /** Is called with what a pass did, or with the error of one that failed; the next pass tries again. */
  report(pass: HandOverPass | { error: unknown }): void
}

export interface HandOverPass {
  /** Workflows that were started. */
  started: number
  /** How many of them replace a workflow that was gone. */
  revived: number
}

/**
 * The loop of each worker that hands dispatches without a process to workflows: those whose first attempt failed, or
 * was never made because of a crash or a full queue. Also starts workflows whose start is not confirmed, and replaces
 * those that are gone. Loops of any number of workers may run. While Temporal is down, the rows wait.
 */
export function keepHandingOver(parts: HandOverParts): { stop(): void } {
  const { db, workflows, wrap = (pass) => pass, report } = parts
  const revive = createRevive(parts)
  const endLostLeases = createEndLostLeases(db)
  async function pass(): Promise<void> {
    await endLostLeases()
    await run(db, CANCEL_ORPHANS)
    await assign(parts)
    const revived = await revive()
    const started = await startAssigned(db, workflows)
    if (started > 0) report({ started, revived })
  }
  return runEvery(EVERY_MS, wrap(pass), (error) => report({ error }))
}

/**
 * Returns what ends the leases that are over. A lease begins when its dispatch is made, and only a process that ends
 * loses it. So a pass looks at the dispatches of the last minute, and a rare one at all: an index of the leases would
 * cost every send.
 */
function createEndLostLeases(db: Database): () => Promise<void> {
  let fromMs = 0
  let allAtMs = 0
  return async () => {
    const nowMs = performance.now()
    const backMs = nowMs < allAtMs ? Math.ceil(nowMs - fromMs) + LATEST_COMMIT_MS : ALL_MS
    await run(db, END_LOST_LEASES, [backMs], UNPREPARED)
    fromMs = nowMs
    if (backMs === ALL_MS) allAtMs = nowMs + ALL_EVERY_MS
  }
}

// When the lease of a first attempt is over, the process that held it is gone. Whether it had posted is unknown.
// $1: how old the dispatches are, in milliseconds. An id has its time.
export const END_LOST_LEASES = `
  with lost as (
    update open_dispatches set lease_until = null
    where id >= (lpad(to_hex((extract(epoch from now()) * 1000)::int8 - $1::int8), 12, '0') || repeat('0', 20))::uuid
      and lease_until < clock_timestamp() and workflow_id is null
    returning id, account_id, created_at
  )
  ${unknownAttempts({ from: 'lost', number: '1', startedAt: 'created_at' })}`

const WAITS = 'workflow_id is null and lease_until is null'

// The endpoints and attempts for which dispatches wait, each with its longest due one. Each step is one look into the
// index: however many dispatches wait, a pass reads none of the others.
const WAITING = `
  waiting as (
    (select endpoint_id, attempt, due_at from open_dispatches where ${WAITS} order by endpoint_id, attempt, due_at limit 1)
    union all
    select next.* from waiting w cross join lateral (
      select endpoint_id, attempt, due_at from open_dispatches
      where ${WAITS} and (endpoint_id, attempt) > (w.endpoint_id, w.attempt)
      order by endpoint_id, attempt, due_at limit 1
    ) next
  )`

// The endpoint of these dispatches was deleted during their first attempt, which failed or was left to a workflow.
export const CANCEL_ORPHANS = `
  with recursive ${WAITING},
  deleted as materialized (
    select distinct endpoint_id from waiting w
    where not exists (select from webhook_endpoints e where e.id = w.endpoint_id)
  ),
  orphan as materialized (
    select d.id from deleted join open_dispatches d using (endpoint_id)
    where ${WAITS} limit ${MAX_CANCELLED} for update of d skip locked
  ),
  cancelled as (
    delete from open_dispatches d using orphan o where d.id = o.id returning d.*
  )
  ${intoDispatchHistory('cancelled', "'cancelled'", ENDED_NOW)}`

const timesOf = (row: string) => `
  ${inMs(`${row}.due_at`)} as "dueMs",
  ${inMs(`${row}.deadline_at`)} as "deadlineMs"`

// The rows of the endpoints whose dispatches have been due for longest, as many endpoints as workflows may be started.
// Accounts take turns, first with their endpoints and then with their rows, so that one account cannot take a whole
// pass, nor with workflows that wait for their start. An endpoint gives at most ten times its even share, so that a
// pass stays cheap.
export const UNASSIGNED = `
  with recursive unstarted as (
    select coalesce(sum(least(workflows, ${WORKFLOWS_PER_PASS / 2})), 0) as workflows from (
      select count(distinct workflow_id) as workflows from open_dispatches
      where workflow_id is not null and handed_over_at is null group by account_id
    ) as of_account
  ),
  ${WAITING.trim()},
  longest_due as materialized (
    select w.*, e.account_id, row_number() over (partition by e.account_id order by w.due_at) as turn
    from waiting w join webhook_endpoints e on e.id = w.endpoint_id
    order by turn, w.due_at limit (select greatest(0, ${WORKFLOWS_PER_PASS} - workflows) from unstarted)
  ),
  chosen as materialized (
    select d.id, l.due_at as since,
      row_number() over (partition by l.account_id order by l.due_at, l.endpoint_id, l.attempt, d.due_at) as turn
    from longest_due l cross join lateral (
      select id, due_at from open_dispatches
      where endpoint_id = l.endpoint_id and attempt = l.attempt and ${WAITS}
      order by due_at limit (select least($1, 10 * $1::bigint / greatest(1, count(*))) from longest_due)
    ) d
    order by turn, since limit $1
  )
  select d.id, d.event_id as "eventId", d.account_id as "accountId", d.endpoint_id as "endpointId", d.attempt,
    ${timesOf('d')}, ${inMs('clock_timestamp()')} as "nowMs"
  from chosen c join open_dispatches d on d.id = c.id
  where d.workflow_id is null and d.lease_until is null
  order by c.since, d.endpoint_id, d.attempt, d.due_at
  for update of d skip locked`

export const ASSIGN = `
  with input as (select * from json_to_recordset($1::json) as r(id uuid, workflow_id text))
  update open_dispatches d set workflow_id = i.workflow_id from input i where d.id = i.id`

interface UnassignedRow extends PendingDispatch {
  accountId: string
  eventId: string
  nowMs: number
}

/** Orders groups so that accounts take turns. */
function inTurn<Group extends [UnassignedRow, ...UnassignedRow[]]>(groups: Group[]): Group[] {
  const byAccount = Map.groupBy(groups, ([{ accountId }]) => accountId)
  const turns = [...byAccount.values()].flatMap((own) => own.map((group, turn) => ({ group, turn })))
  return turns.sort((a, b) => a.turn - b.turn).map(({ group }) => group)
}

/** Groups the dispatches that wait, and commits the ids of the workflows that will take them onto their rows. */
async function assign({ db, workflows: { maxGroup }, scheduleMs }: HandOverParts): Promise<void> {
  await db.$client.begin(async (transaction) => {
    const most = WORKFLOWS_PER_PASS * maxGroup
    const rows = await run<UnassignedRow>(transaction, UNASSIGNED, [most])
    const [first] = rows
    if (first === undefined) return
    const groups = inTurn(groupDispatches(rows, first.nowMs, { scheduleMs, maxGroup }))
    const assignments = groups.slice(0, WORKFLOWS_PER_PASS).flatMap((group) => {
      const workflow_id = workflowIdOf('original', group[0].endpointId, group)
      return group.map(({ id }) => ({ json: JSON.stringify({ id, workflow_id }) }))
    })
    await run(transaction, ASSIGN, [jsonArray(assignments)])
  })
}

// The call that asks for a replay also starts its workflow. When that has not happened within ten seconds, the call is
// gone. Accounts take turns.
export const ASSIGNED = `
  with unstarted as materialized (
    select workflow_id, row_number() over (partition by account_id order by min(due_at)) as turn from open_dispatches
    where workflow_id is not null and handed_over_at is null
      and (kind = 'original' or created_at < clock_timestamp() - interval '10 seconds')
    group by account_id, workflow_id order by turn limit ${WORKFLOWS_PER_PASS}
  )
  select d.workflow_id as "workflowId", d.kind, d.id, d.event_id as "eventId", d.message_id as "messageId",
    d.account_id as "accountId", d.endpoint_id as "endpointId", d.attempt, d.traceparent, ${timesOf('d')}, w.url, a.outcome, a.status_code as "statusCode", a.cause
  from unstarted u
  join open_dispatches d on d.workflow_id = u.workflow_id
  left join webhook_endpoints w on w.id = d.endpoint_id
  left join lateral (
    select outcome, status_code, cause from attempts a where a.dispatch_id = d.id and a.number = d.attempt - 1
    order by started_at desc limit 1
  ) a on true
  order by u.turn, d.workflow_id, d.id`

interface AssignedRow extends PendingDispatch {
  workflowId: string
  accountId: string
  kind: Group['kind']
  eventId: string
  messageId: string
  deadlineMs: number
  url: string | null
  /** The outcome of the previous attempt. */
  outcome: StoredOutcome | null
  statusCode: number | null
  cause: string | null
  traceparent: string | null
}

/**
 * Starts the workflows whose start is not confirmed, each with all rows that have its id. Throws when one could not be
 * started, and stops when none of several could: Temporal is away.
 */
async function startAssigned(db: Database, workflows: Workflows): Promise<number> {
  const rows = await run<AssignedRow>(db, ASSIGNED)
  const groups = [...Map.groupBy(rows, (row) => row.workflowId).values()].map(groupOf)
  const errors: unknown[] = []
  for (let from = 0; from < groups.length; from += STARTS_AT_A_TIME) {
    const some = groups.slice(from, from + STARTS_AT_A_TIME)
    const started = await startGroups(workflows, some, (error) => errors.push(error))
    await markHandedOver(db, started)
    if (started.length === 0) break
  }
  if (errors.length > 0) throw errors[0]
  return groups.length
}

/** Starts the workflows of groups. Returns the ids of those that are started. */
export async function startGroups(
  workflows: Workflows,
  groups: readonly Group[],
  onError: (error: unknown) => void,
): Promise<string[]> {
  const started: string[] = []
  const start = (group: Group) => workflows.start(group).then(() => void started.push(group.workflowId), onError)
  await Promise.all(groups.map(start))
  return started
}

/**
 * The group of one workflow's rows. They may wait for different attempts when the workflow replaces another one. It
 * begins with the earliest.
 */
function groupOf(rows: AssignedRow[]): Group {
  const [{ workflowId, kind, accountId, endpointId, url, traceparent }] = rows as [AssignedRow]
  return {
    workflowId,
    kind,
    dispatches: rows.map(groupedDispatch),
    accountId,
    endpointId,
    endpointHost: url === null ? '' : new URL(url).host,
    attempt: Math.min(...rows.map((row) => row.attempt)),
    dueMs: Math.max(...rows.map((row) => row.dueMs)),
    traceparent: rows.every((row) => row.traceparent === traceparent) ? (traceparent ?? undefined) : undefined,
  }
}

function groupedDispatch({ id, eventId, messageId, deadlineMs, outcome, statusCode, cause }: AssignedRow) {
  const result = outcome && { outcome, statusCode: statusCode ?? undefined, cause: cause ?? undefined }
  return { id, eventId, messageId, deadlineMs, previousResult: result ?? undefined }
}

export const MARK_HANDED_OVER = `
  update open_dispatches set handed_over_at = clock_timestamp()
  where workflow_id = any($1::text[]) and handed_over_at is null`

/** Stores that these workflows are started. */
export async function markHandedOver(db: Database, workflowIds: string[]): Promise<void> {
  if (workflowIds.length > 0) await run(db, MARK_HANDED_OVER, [`{${workflowIds}}`])
}
