import type { DatabaseClock } from '../../db/clock.ts'
import type { Database } from '../../db/connect.ts'
import { newId, publicId } from '../../db/ids.ts'
import { run } from '../../db/statement.ts'
import { fail } from '../../errors.ts'
import { WINDOW_HOURS } from '../../ledger/tail.ts'
import { NO_TRACING, type Trace, type Tracing } from '../../telemetry/tracing.ts'
import { markHandedOver } from '../hand-over.ts'
import type { Group, Workflows } from '../workflows.ts'

export interface ReplayParts {
  db: Database
  clock: DatabaseClock
  workflows: Workflows
  tracing?: Tracing
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

/** Replays events of one account, at least one. `request` is the trace of the call that asks for it. */
export type Replay = (accountId: string, events: ReplayedEvent[], request?: Trace) => Promise<ReplayReceipt[]>

export interface ReplayedEvent {
  id: string
  messageId: string
}

const WINDOW_MS = WINDOW_HOURS * 3_600_000

export const OPEN = `
  with endpoint as (
    select account_id, url from webhook_endpoints where account_id = $2
  ),
  opened as (
    insert into open_dispatches
      (id, event_id, message_id, account_id, kind, created_at, due_at, deadline_at, workflow_id,
      traceparent)
    select r.id, r.event_id, r.message_id, e.account_id, 'replay', now(), now(),
      now() + interval '${WINDOW_HOURS} hours', r.workflow_id, r.traceparent
    from endpoint e, json_to_recordset($1::json) as r(id uuid, event_id uuid, message_id uuid,
      workflow_id text, traceparent text)
    returning created_at
  )
  select url, (select (extract(epoch from max(created_at)) * 1000)::float8 from opened) as "atMs" from endpoint`

// Deletes nothing when an attempt of any of the dispatches has started or ended: then the workflow runs, whatever the
// result of its start was.
export const WITHDRAW = `
  with rows as materialized (
    select id, attempt > 1 or started_at is not null or handed_over_at is not null as is_touched
    from open_dispatches where workflow_id = any($1::text[]) order by id for update
  )
  delete from open_dispatches d using rows r
  where d.id = r.id and (select count(*) = $2 and not bool_or(is_touched) from rows)
  returning d.id`

/**
 * Creates the function that replays events, all events of a call together. It commits the dispatches first, with the
 * ids of their workflows. If this process dies after that, the hand-over loop starts the workflows. So a replay that
 * was accepted is never lost, a refused one leaves nothing behind, and after a crash a replay may happen without a
 * response to its caller. One workflow takes up to `maxGroup` events. When the first workflow is started, the replay is
 * accepted: the hand-over loop starts the others, should their start fail here.
 *
 * Throws `webhook_not_configured`, and `transient_failure` when the first workflow cannot be started.
 */
export function createReplay({ db, clock, workflows, tracing = NO_TRACING, report }: ReplayParts): Replay {
  /** Deletes the dispatches. Returns false when they stay, because an attempt has started or ended. */
  async function withdraw(workflowIds: string[], count: number): Promise<boolean> {
    return (await run(db, WITHDRAW, [`{${workflowIds}}`, count])).count === count
  }

  return async (accountId, events, request) => {
    const dispatchIds = events.map(() => newId(clock.now()))
    const rows = rowsOf(events, dispatchIds, workflows.maxGroup, () => traceOfReplay(tracing, request?.traceparent))
    const opened = await open(db, accountId, rows)
    if (!opened) throw fail('webhook_not_configured', NO_ENDPOINT)
    const [first, ...others] = groupsOf(rows, { accountId, ...opened }) as [Group, ...Group[]]
    try {
      await workflows.start(first)
    } catch (cause) {
      report(cause)
      const workflowIds = [first, ...others].map(({ workflowId }) => workflowId)
      const isWithdrawn = await withdraw(workflowIds, rows.length).catch((cause) => {
        throw fail('transient_failure', UNKNOWN, { cause })
      })
      if (isWithdrawn) throw fail('transient_failure', REFUSED, { cause })
    }
    const starts = await Promise.allSettled(others.map((group) => workflows.start(group)))
    for (const start of starts) if (start.status === 'rejected') report(start.reason)
    const started = [first, ...others.filter((_, i) => starts[i]!.status === 'fulfilled')]
    await markHandedOver(
      db,
      started.map(({ workflowId }) => workflowId),
    ).catch(report)
    return rows.map(({ id, eventId, messageId }) => ({ eventId, messageId, dispatchId: id, dispatchedMs: opened.atMs }))
  }
}

/** A dispatch of a replay. */
interface Row {
  id: string
  eventId: string
  messageId: string
  workflowId: string
  traceparent?: string
}

/** Begins a new trace for a replay; it links to the span that caused the replay. */
export function traceOfReplay(tracing: Tracing, cause: string | undefined): string | undefined {
  const trace = tracing.begin('replay', { kind: 'internal', link: cause })
  trace?.end()
  return trace?.traceparent
}

export interface Opened {
  /** The URL of the endpoint. */
  url: string
  /** When the dispatches were created, in Unix milliseconds. */
  atMs: number
}

/**
 * The dispatches that replay these events. One workflow takes up to `maxGroup` of them, and all of those continue one
 * trace that `beginTrace` begins.
 */
export function rowsOf(
  events: ReplayedEvent[],
  dispatchIds: string[],
  maxGroup: number,
  beginTrace: () => string | undefined,
): Row[] {
  const rows: Row[] = []
  for (const [i, { id: eventId, messageId }] of events.entries()) {
    const id = dispatchIds[i]!
    const first = rows[i - (i % maxGroup)]
    const workflowId = first?.workflowId ?? `replay-${publicId('dsp', id)}`
    rows.push({ id, eventId, messageId, workflowId, traceparent: first ? first.traceparent : beginTrace() })
  }
  return rows
}

/** The groups of new dispatches, one for each workflow. */
export function groupsOf(rows: Row[], { accountId, url, atMs }: Opened & { accountId: string }): Group[] {
  return [...Map.groupBy(rows, (row) => row.workflowId)].map(([workflowId, rows]) => ({
    workflowId,
    kind: 'replay',
    dispatchIds: rows.map((row) => row.id),
    eventIds: rows.map((row) => row.eventId),
    messageIds: [...new Set(rows.map((row) => row.messageId))],
    accountId,
    endpointHost: new URL(url).host,
    attempt: 1,
    dueMs: atMs,
    deadlineMs: atMs + WINDOW_MS,
    previousResults: [],
    traceparent: rows[0]!.traceparent,
  }))
}

export const NO_ENDPOINT = 'This account has no webhook endpoint. Set one: PUT /api/v1/webhook {"url": "https://..."}.'
const REFUSED = 'The replay could not be started in Temporal. Nothing was dispatched; it is safe to retry.'
const UNKNOWN = 'It is not known whether the replay was accepted. Get the event: its dispatches show it.'

/** The dispatches as the statements that open them read them. */
export function jsonOf(rows: Row[]): string {
  return JSON.stringify(
    rows.map(({ id, eventId, messageId, workflowId, traceparent }) => {
      return { id, event_id: eventId, message_id: messageId, workflow_id: workflowId, traceparent }
    }),
  )
}

async function open(db: Database, accountId: string, rows: Row[]): Promise<Opened | undefined> {
  try {
    const [opened] = await run<Opened>(db, OPEN, [jsonOf(rows), accountId])
    return opened
  } catch (cause) {
    throw fail('transient_failure', UNKNOWN, { cause })
  }
}
