import type { DatabaseClock } from '../../db/clock.ts'
import type { Database } from '../../db/connect.ts'
import { newId } from '../../db/ids.ts'
import { inMs, run } from '../../db/statement.ts'
import { fail } from '../../errors.ts'
import { WINDOW_HOURS } from '../../ledger/tail.ts'
import { NO_TRACING, type Trace, type Tracing } from '../../telemetry/tracing.ts'
import { NO_ENDPOINT } from '../endpoints/endpoints.ts'
import { markHandedOver, startGroups } from '../queue/hand-over.ts'
import { workflowIdOf } from '../queue/workflow-ids.ts'
import type { Group, Workflows } from '../queue/workflows.ts'

interface ReplayParts {
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
  /** In the order of the event's endpoints. */
  dispatches: { dispatchId: string; endpointId: string }[]
  /** When the replay was accepted, in Unix milliseconds. */
  dispatchedMs: number
}

/**
 * Replays events of one account, at least one, each to at least one endpoint. `request` is the trace of the call that
 * asks for it.
 */
export type Replay = (accountId: string, events: ReplayedEvent[], request?: Trace) => Promise<ReplayReceipt[]>

export interface ReplayedEvent {
  id: string
  messageId: string
  /** The endpoints that receive it. */
  endpointIds: readonly string[]
}

const WINDOW_MS = WINDOW_HOURS * 3_600_000

/** SQL that inserts the dispatches of `jsonOf`, except those to endpoints that the account does not have any more. */
export const insertReplays = (json: string, accountId: string) => `
    insert into open_dispatches (id, event_id, message_id, account_id, endpoint_id, kind, created_at, due_at, deadline_at,
      workflow_id, traceparent)
    select r.id, r.event_id, r.message_id, w.account_id, w.id, 'replay', now(), now(),
      now() + interval '${WINDOW_HOURS} hours', r.workflow_id, r.traceparent
    from json_to_recordset(${json}::json) as r(id uuid, event_id uuid, message_id uuid, endpoint_id uuid,
      workflow_id text, traceparent text)
    join webhook_endpoints w on w.id = r.endpoint_id and w.account_id = ${accountId}`

/** SQL: the endpoints of the CTE `opened`, and the time of the statement. */
export const OPENED_ENDPOINTS = `
  select w.id as "endpointId", w.url, ${inMs('now()::timestamptz(3)')} as "atMs"
  from webhook_endpoints w where w.id in (select endpoint_id from opened)`

export const OPEN = `
  with opened as (
    ${insertReplays('$1', '$2')}
    returning endpoint_id
  )
  ${OPENED_ENDPOINTS}`

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
    const wanted = rowsOf(events, {
      idOf: () => newId(clock.now()),
      maxGroup: workflows.maxGroup,
      beginTrace: () => traceOfReplay(tracing, request?.traceparent),
    })
    const endpoints = await open(db, accountId, wanted)
    const [opened] = endpoints
    if (!opened) throw fail('webhook_not_configured', NO_ENDPOINT)
    // An endpoint that was deleted a moment ago gets nothing, and an event for it alone is not replayed.
    const rows = wanted.filter(({ endpointId }) => endpoints.some((endpoint) => endpoint.endpointId === endpointId))
    const [first, ...others] = groupsOf(rows, accountId, endpoints) as [Group, ...Group[]]
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
    const started = await startGroups(workflows, others, report)
    await markHandedOver(db, [first.workflowId, ...started]).catch(report)
    return events.flatMap(({ id: eventId, messageId, endpointIds }) => {
      const inOrder = endpointIds.flatMap((endpointId) =>
        rows.filter((row) => row.eventId === eventId && row.endpointId === endpointId),
      )
      const dispatches = inOrder.map(({ id, endpointId }) => ({ dispatchId: id, endpointId }))
      return dispatches.length === 0 ? [] : [{ eventId, messageId, dispatches, dispatchedMs: opened.atMs }]
    })
  }
}

/** A dispatch of a replay. */
interface Row {
  id: string
  eventId: string
  messageId: string
  endpointId: string
  workflowId: string
  traceparent?: string
}

/** Begins a new trace for a replay; it links to the span that caused the replay. */
export function traceOfReplay(tracing: Tracing, cause: string | undefined): string | undefined {
  const trace = tracing.begin('replay', { kind: 'internal', link: cause })
  trace?.end()
  return trace?.traceparent
}

/** An endpoint that new dispatches go to. */
export interface OpenedEndpoint {
  endpointId: string
  url: string
  /** When the dispatches were created, in Unix milliseconds. */
  atMs: number
}

interface RowParts {
  /** The id of the dispatch that sends an event to one of its endpoints, each by its position. */
  idOf(event: number, endpoint: number): string
  /** The most dispatches of one workflow. */
  maxGroup: number
  /** Begins the trace of a workflow. */
  beginTrace(): string | undefined
}

/** The dispatches that replay these events, those to one endpoint together. One workflow takes up to `maxGroup`. */
export function rowsOf(events: readonly ReplayedEvent[], { idOf, maxGroup, beginTrace }: RowParts): Row[] {
  const dispatches = events.flatMap(({ id: eventId, messageId, endpointIds }, event) =>
    endpointIds.map((endpointId, endpoint) => ({ id: idOf(event, endpoint), eventId, messageId, endpointId })),
  )
  return [...Map.groupBy(dispatches, ({ endpointId }) => endpointId)].flatMap(([endpointId, ofEndpoint]) => {
    const groups = Array.from({ length: Math.ceil(ofEndpoint.length / maxGroup) }, (_, i) =>
      ofEndpoint.slice(i * maxGroup, (i + 1) * maxGroup),
    )
    return groups.flatMap((group) => {
      const workflowId = workflowIdOf('replay', endpointId, group)
      const traceparent = beginTrace()
      return group.map((dispatch) => ({ ...dispatch, workflowId, traceparent }))
    })
  })
}

/** The groups of new dispatches, one for each workflow. */
export function groupsOf(rows: readonly Row[], accountId: string, endpoints: readonly OpenedEndpoint[]): Group[] {
  return [...Map.groupBy(rows, (row) => row.workflowId)].map(([workflowId, rows]) => {
    const { endpointId, traceparent } = rows[0]!
    const { url, atMs } = endpoints.find((endpoint) => endpoint.endpointId === endpointId)!
    return {
      workflowId,
      kind: 'replay',
      dispatches: rows.map(({ id, eventId, messageId }) => ({ id, eventId, messageId, deadlineMs: atMs + WINDOW_MS })),
      accountId,
      endpointId,
      endpointHost: new URL(url).host,
      attempt: 1,
      dueMs: atMs,
      traceparent,
    }
  })
}

export const REFUSED = 'The replay could not be started in Temporal. Nothing was dispatched; it is safe to retry.'
const UNKNOWN = 'It is not known whether the replay was accepted. Get the event: its dispatches show it.'

/** The dispatches as the statements that open them read them. */
export function jsonOf(rows: readonly Row[]): string {
  return JSON.stringify(
    rows.map(
      ({ eventId: event_id, messageId: message_id, endpointId: endpoint_id, workflowId: workflow_id, ...row }) => {
        return { ...row, event_id, message_id, endpoint_id, workflow_id }
      },
    ),
  )
}

async function open(db: Database, accountId: string, rows: Row[]): Promise<readonly OpenedEndpoint[]> {
  try {
    return await run<OpenedEndpoint>(db, OPEN, [jsonOf(rows), accountId])
  } catch (cause) {
    throw fail('transient_failure', UNKNOWN, { cause })
  }
}
