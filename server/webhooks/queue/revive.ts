import type { Database } from '../../db/connect.ts'
import { run } from '../../db/statement.ts'
import { REVIVED_ID } from './workflow-ids.ts'
import type { Workflows } from './workflows.ts'

// Waiting dispatches whose workflow is gone get another one.

export interface ReviveLimits {
  /**
   * When a workflow's attempt is overdue by this much, the hand-over looks for the workflow, and again after each such
   * time.
   */
  overdueMs: number
  /** How often Temporal is asked which workflows were terminated. */
  askEveryMs: number
}

interface ReviveParts extends Partial<ReviveLimits> {
  db: Database
  workflows: Workflows
}

const OVERDUE_MS = 120_000
/** Together with the end of a running POST, a termination is noticed within a minute. */
const ASK_EVERY_MS = 20_000
/**
 * Longer than a restart of the worker, so that it learns of terminations during the restart. Workflows that were
 * terminated earlier are noticed when an attempt is overdue.
 */
const TERMINATED_WITHIN_MS = 600_000
/** How many workflows are looked up at a time. */
const WORKFLOWS_AT_A_TIME = 100
/** How many dispatches of an account are read for them. */
const ROWS_AT_A_TIME = 500
/** A POST that began earlier is over: longer than POST_AND_RECORD of begin.ts. */
const POST_IS_OVER = `interval '15 seconds'`

/**
 * Returns what each pass of the hand-over calls: it assigns dispatches anew whose workflow is gone, and returns the
 * number of these workflows. Terminated ones are known from one question to Temporal, whose cost does not grow with the
 * workflows that wait. Every other one, such as those of a lost history, is noticed when an attempt is overdue.
 */
export function createRevive({ db, workflows, overdueMs = OVERDUE_MS, askEveryMs = ASK_EVERY_MS }: ReviveParts) {
  let askAtMs = 0

  async function reviveClosed(ids: string[]): Promise<number> {
    const closed = ids.length > 0 ? await workflows.closed(ids) : []
    if (closed.length > 0) await run(db, REVIVE, [`{${closed}}`])
    return closed.length
  }

  async function reviveTerminated(): Promise<number> {
    if (performance.now() < askAtMs) return 0
    askAtMs = performance.now() + askEveryMs
    const terminated = await workflows.terminatedSince(Date.now() - TERMINATED_WITHIN_MS)
    if (terminated.length === 0) return 0
    const rows = await run<{ id: string }>(db, STILL_OPEN, [`{${terminated}}`])
    let revived = 0
    // A workflow that a person has reset was terminated too, and runs again.
    for (let from = 0; from < rows.length; from += WORKFLOWS_AT_A_TIME)
      revived += await reviveClosed(rows.slice(from, from + WORKFLOWS_AT_A_TIME).map(({ id }) => id))
    return revived
  }

  async function reviveOverdue(): Promise<number> {
    const rows = await run<{ id: string }>(db, CLAIM_OVERDUE, [overdueMs])
    return reviveClosed([...new Set(rows.map((row) => row.id))])
  }

  return async () => (await reviveTerminated()) + (await reviveOverdue())
}

// Leaves out workflows with a POST that may still run. Another workflow would make the same attempt at the same time.
export const STILL_OPEN = `
  select workflow_id as id from open_dispatches
  where workflow_id = any($1::text[]) and handed_over_at is not null
  group by workflow_id
  having bool_and(started_at is null or started_at < clock_timestamp() - ${POST_IS_OVER})`

/** SQL: a dispatch whose workflow is started, and that was due, and last looked for, long ago. */
const IS_OVERDUE = `workflow_id is not null and handed_over_at is not null
        and greatest(due_at, looked_at) < now() - $1 * interval '1 millisecond'`

// Marks the workflows that this pass looks for, so that other passes and processes leave them alone for a while.
// Accounts take turns, and a pass reads a few rows of each. By now(), and not by clock_timestamp(), the index finds
// what is due.
export const CLAIM_OVERDUE = `
  with recursive account as (
    (select account_id from open_dispatches where workflow_id is not null order by account_id limit 1)
    union all
    select next.account_id from account a cross join lateral (
      select account_id from open_dispatches
      where workflow_id is not null and account_id > a.account_id order by account_id limit 1
    ) next
  ),
  overdue as materialized (
    select o.* from account a cross join lateral (
      select workflow_id, row_number() over (order by min(since)) as turn from (
        select workflow_id, greatest(due_at, looked_at) as since from open_dispatches
        where account_id = a.account_id and ${IS_OVERDUE}
        order by greatest(due_at, looked_at) limit ${ROWS_AT_A_TIME}
      ) oldest
      group by workflow_id
    ) o
    order by turn limit ${WORKFLOWS_AT_A_TIME}
  )
  update open_dispatches d set looked_at = clock_timestamp() from overdue o where d.workflow_id = o.workflow_id
  returning d.workflow_id as id`

export const REVIVE = `
  update open_dispatches set workflow_id = ${REVIVED_ID}, handed_over_at = null, looked_at = null
  where workflow_id = any($1::text[])`
