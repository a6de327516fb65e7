import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import { newId, showId } from '../db/ids.ts'
import { run } from '../db/statement.ts'
import { fail } from '../errors.ts'
import { WINDOW_HOURS } from '../history/tail.ts'
import { handedOver } from '../webhooks/hand-over.ts'
import type { Workflows } from '../webhooks/workflows.ts'

export interface ReplayParts {
  db: Database
  clock: DatabaseClock
  workflows: Workflows
  /** Hears of what went wrong and was made good. */
  report(error: unknown): void
}

export interface Replayed {
  eventId: string
  messageId: string
  dispatchId: string
  /** When the replay was accepted, Unix milliseconds. */
  dispatchedMs: number
}

/** Replays events of one account, at least one and at most 50. */
export type Replay = (accountId: string, events: { id: string; messageId: string }[]) => Promise<Replayed[]>

const WINDOW_MS = WINDOW_HOURS * 3_600_000

export const OPEN = `
  with endpoint as (
    select account_id, url from webhook_endpoints where account_id = $2
  ),
  opened as (
    insert into open_dispatches (id, event_id, message_id, account_id, kind, created_at, due_at, deadline_at, workflow_id)
    select r.id, r.event_id, r.message_id, e.account_id, 'replay', now(), now(), now() + interval '${WINDOW_HOURS} hours', $3
    from endpoint e, json_to_recordset($1::json) as r(id uuid, event_id uuid, message_id uuid)
    returning created_at
  )
  select url, (select (extract(epoch from max(created_at)) * 1000)::float8 from opened) as "atMs" from endpoint`

// Unless an attempt of any of them has begun, or is over: then the workflow runs, whatever we heard of its start.
export const WITHDRAW = `
  with rows as materialized (
    select id, attempt > 1 or started_at is not null or handed_over_at is not null as is_touched
    from open_dispatches where workflow_id = $1 order by id for update
  )
  delete from open_dispatches d using rows r
  where d.id = r.id and (select count(*) = $2 and not bool_or(is_touched) from rows)
  returning d.id`

/**
 * All events of a replay go with one workflow. The dispatches are committed first, with the id of
 * that workflow: once they are there, the hand-over loop starts it if this process dies. So a replay that was answered is never lost;
 * one that was refused has left nothing, and after a crash one may be made of which nobody was told.
 *
 * Throws `webhook_not_configured`, and `transient_failure` when the workflow cannot be started.
 */
export function createReplay({ db, clock, workflows, report }: ReplayParts): Replay {
  /** Whether there is nothing left of the dispatches, as if nobody had asked. */
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
      answers: [],
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
    await handedOver(db, [workflowId]).catch(report)
    return rows.map(({ id, ...ids }) => ({ ...ids, dispatchId: id, dispatchedMs: opened.atMs }))
  }
}

export const NO_ENDPOINT = 'This account has no webhook endpoint. Set one: PUT /api/v1/webhook {"url": "https://..."}.'
const REFUSED = 'The replay could not be started. Nothing was dispatched; it is safe to retry.'
const UNKNOWN = 'It is not known whether the replay was accepted: it may be made all the same. Its event tells.'

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
