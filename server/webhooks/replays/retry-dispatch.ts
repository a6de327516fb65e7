import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../../db/connect.ts'
import { parsePublicId } from '../../db/ids.ts'
import { run, UNPREPARED } from '../../db/statement.ts'
import { fail } from '../../errors.ts'
import type { Workflows } from '../queue/workflows.ts'

interface RetryParts {
  db: Database
  workflows: Pick<Workflows, 'retryNow'>
}

// Without a workflow the dispatch waits for the hand-over, which starts one for the time that is stored here.
const RETRY = `
  with found as materialized (
    select id, workflow_id, workflow_id is not null and handed_over_at is null as is_starting,
      started_at is not null or coalesce(lease_until > clock_timestamp(), false) as is_attempted
    from open_dispatches where id = $1 and account_id = $2 for update
  ),
  hastened as (
    update open_dispatches d set due_at = least(d.due_at, clock_timestamp())
    from found f where d.id = f.id and f.workflow_id is null and not f.is_attempted
  )
  select 'waiting' as state, workflow_id as "workflowId", is_starting as "isStarting", is_attempted as "isAttempted"
  from found
  union all
  select state, null, false, false from dispatches where id = $1 and account_id = $2`

interface FoundDispatch {
  state: string
  workflowId: string | null
  /** Whether the hand-over has yet to confirm that the workflow is started. */
  isStarting: boolean
  /** Whether an attempt of it is running. */
  isAttempted: boolean
}

// The hand-over starts a workflow within milliseconds. A slow Temporal takes up to five seconds.
const START_MS = 5_000
const LOOK_EVERY_MS = 100

/**
 * Makes the next attempt of a waiting dispatch now. Throws `not_found`, `wrong_state` when the dispatch has ended or an
 * attempt of it is running, and `transient_failure` when its workflow cannot be reached.
 */
export async function retryDispatch(parts: RetryParts, accountId: string, shown: string): Promise<void> {
  const id = parsePublicId('dsp', shown)
  if (!id) throw noDispatch(shown)
  const workflowId = await startedWorkflow(parts.db, accountId, id, shown)
  if (workflowId === null) return
  await parts.workflows.retryNow(workflowId, id).catch((cause) => {
    throw fail('transient_failure', UNREACHABLE, { cause })
  })
}

/** The workflow of the dispatch, once it is started; null when the dispatch has none, and has become due instead. */
async function startedWorkflow(db: Database, accountId: string, id: string, shown: string): Promise<string | null> {
  const giveUpAtMs = Date.now() + START_MS
  for (;;) {
    const [found] = await run<FoundDispatch>(db, RETRY, [id, accountId], UNPREPARED)
    if (!found) throw noDispatch(shown)
    if (found.state !== 'waiting') {
      throw fail('wrong_state', `The dispatch has ended: it is ${found.state}. Replay its event to send it again.`)
    }
    if (found.isAttempted) throw fail('wrong_state', 'An attempt of the dispatch is running now. Wait for its outcome.')
    if (!found.isStarting) return found.workflowId
    if (Date.now() > giveUpAtMs) throw fail('transient_failure', NOT_STARTED)
    await sleep(LOOK_EVERY_MS)
  }
}

const noDispatch = (shown: string) =>
  fail('not_found', `There is no dispatch ${JSON.stringify(shown.slice(0, 64))} in this account.`)

const NOT_STARTED =
  'The workflow of the dispatch has not started: Temporal or the worker does not respond. The next attempt stays as planned; it is safe to retry.'
const UNREACHABLE = 'Temporal could not be reached. The next attempt stays as planned; it is safe to retry.'
