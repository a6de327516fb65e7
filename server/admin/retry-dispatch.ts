import type { Database } from '../db/connect.ts'
import { parsePublicId } from '../db/ids.ts'
import { run } from '../db/statement.ts'
import { fail } from '../errors.ts'
import type { Workflows } from '../webhooks/workflows.ts'

export interface RetryParts {
  db: Database
  workflows: Pick<Workflows, 'retryNow'>
}

// Without a workflow the dispatch waits for the hand-over, which starts one for the time that is stored here.
const RETRY = `
  with found as materialized (
    select id, workflow_id, started_at is not null or coalesce(lease_until > clock_timestamp(), false) as is_attempted
    from open_dispatches where id = $1 and account_id = $2 for update
  ),
  hastened as (
    update open_dispatches d set due_at = least(d.due_at, clock_timestamp())
    from found f where d.id = f.id and f.workflow_id is null and not f.is_attempted
  )
  select 'waiting' as state, workflow_id as "workflowId", is_attempted as "isAttempted" from found
  union all
  select state, null, false from dispatches where id = $1 and account_id = $2`

interface FoundDispatch {
  state: string
  workflowId: string | null
  /** Whether an attempt of it is running. */
  isAttempted: boolean
}

/**
 * Makes the next attempt of a waiting dispatch now. Throws `not_found`, `wrong_state` when the dispatch has ended or an
 * attempt of it is running, and `transient_failure` when its workflow cannot be reached.
 */
export async function retryDispatch({ db, workflows }: RetryParts, accountId: string, shown: string): Promise<void> {
  const id = parsePublicId('dsp', shown)
  const [found] = id ? await run<FoundDispatch>(db, RETRY, [id, accountId], { prepare: false }) : []
  if (!id || !found) {
    throw fail('not_found', `There is no dispatch ${JSON.stringify(shown.slice(0, 64))} in this account.`)
  }
  if (found.state !== 'waiting') {
    throw fail('wrong_state', `The dispatch has ended: it is ${found.state}. Replay its event to send it again.`)
  }
  if (found.isAttempted) throw fail('wrong_state', 'An attempt of the dispatch is running now. Wait for its outcome.')
  if (found.workflowId === null) return
  await workflows.retryNow(found.workflowId, id).catch((cause) => {
    throw fail('transient_failure', UNREACHABLE, { cause })
  })
}

const UNREACHABLE = 'Temporal could not be reached. The next attempt stays as planned; it is safe to retry.'
