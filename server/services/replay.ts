import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import { newId, showId } from '../db/ids.ts'
import { run } from '../db/statement.ts'
import { fail } from '../errors.ts'
import { WINDOW_HOURS } from '../history/tail.ts'
import { markHandedOver } from '../webhooks/hand-over.ts'
import type { Workflows } from '../webhooks/workflows.ts'

export interface ReplayParts {
  db: Database
  clock: DatabaseClock
  workflows: Workflows
  /** Is called with errors that did not fail the replay. */
  report(error: unknown): void
}

export interface ReplayReceipt {
  eventId: string
  messageId: string
  dispatchId: string
  /** When the replay was accepted, in Unix milliseconds. */
  dispatchedMs: number
}

/** Replays 1 to 50 events of one account. */
export type Replay = (accountId: string, events: { id: string; messageId: string }[]) => Promise<ReplayReceipt[]>

const WINDOW_MS = WINDOW_HOURS * 3_600_000

export const OPEN = `
  with endpoint as (
    select account_id, url from webhook_endpoints where account_id = $2
  ),
  opened as (
    insert into open_dispatches
      (id, event_id, message_id, account_id, kind, created_at, due_at, deadline_at, workflow_id)
    select r.id, r.event_id, r.message_id, e.account_id, 'replay', now(), now(),
      now() + interval '${WINDOW_HOURS} hours', $3
    from endpoint e, json_to_recordset($1::json) as r(id uuid, event_id uuid, message_id uuid)
    returning created_at
  )
  select url, (select (extract(epoch from max(created_at)) * 1000)::float8 from opened) as "atMs" from endpoint`

// Deletes nothing when an attempt of any of the dispatches has started or ended: then the workflow runs, whatever the
// result of its start was.
export const WITHDRAW = `
  with rows as materialized (
    select id, attempt > 1 or started_at is not null or handed_over_at is not null as is_touched
    from open_dispatches where workflow_id = $1 order by id for update
  )
  delete from open_dispatches d using rows r
  where d.id = r.id and (select count(*) = $2 and not bool_or(is_touched) from rows)
  returning d.id`

/**
 * Creates the function that replays events, all events of a call in one workflow. It commits the dispatches first, with
 * the id of that workflow: from then on the hand-over loop starts the workflow if this process dies. So a replay that
 * was accepted is never lost, a refused one leaves nothing behind, and after a crash a replay may happen without a
 * response to its caller.
 *
 * Throws `webhook_not_configured`, and `transient_failure` when the workflow cannot be started.
 */
export function createReplay({ db, clock, workflows, report }: ReplayParts): Replay {
  /** Deletes the dispatches. Returns false when they stay, because an attempt has started or ended. */
  async function withdraw(workflowId: string, count: number): Promise<boolean> {
    return (await run(db, WITHDRAW, [workflowId, count])).count === count
  }

  return async (accountId, events) => {
    const rows = events.map(({ id, messageId }) => ({ id: newId(clock.now()), eventId: id, messageId }))
    const workflowId = `replay-${showId('dsp', rows[0]!.id)}`
    const opened = await open(db, accountId, workflowId, rows)
    if (!opened) throw fail('webhook_not_configured', NO_ENDPOINT)
    const group = {
      workflowId,
      kind: 'replay' as const,
      dispatchIds: rows.map((row) => row.id),
      eventIds: rows.map((row) => row.eventId),
      messageIds: [...new Set(rows.map((row) => row.messageId))],
      accountId,
      endpointHost: new URL(opened.url).host,
      attempt: 1,
      dueMs: opened.atMs,
      deadlineMs: opened.atMs + WINDOW_MS,
      previousResults: [],
    }
    try {
      await workflows.start(group)
    } catch (cause) {
      report(cause)
      const isWithdrawn = await withdraw(workflowId, rows.length).catch((cause) => {
        throw fail('transient_failure', UNKNOWN, { cause })
      })
      if (isWithdrawn) throw fail('transient_failure', REFUSED, { cause })
    }
    await markHandedOver(db, [workflowId]).catch(report)
    return rows.map(({ id, ...ids }) => ({ ...ids, dispatchId: id, dispatchedMs: opened.atMs }))
  }
}

export const NO_ENDPOINT = 'This account has no webhook endpoint. Set one: PUT /api/v1/webhook {"url": "https://..."}.'
const REFUSED = 'The replay could not be started. Nothing was dispatched; it is safe to retry.'
const UNKNOWN = 'It is not known whether the replay was accepted. Get the event: its dispatches show it.'

async function open(
  db: Database,
  accountId: string,
  workflowId: string,
  rows: { id: string; eventId: string; messageId: string }[],
): Promise<{ url: string; atMs: number } | undefined> {
  const json = rows.map(({ id, eventId, messageId }) => ({ id, event_id: eventId, message_id: messageId }))
  try {
    const [opened] = await run<{ url: string; atMs: number }>(db, OPEN, [JSON.stringify(json), accountId, workflowId])
    return opened
  } catch (cause) {
    throw fail('transient_failure', UNKNOWN, { cause })
  }
}
