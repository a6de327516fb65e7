import { type DeliveryEvent, PAYLOAD_VERSION, type StoredEvent } from '../../server/db/delivery-event.ts'
import { newId } from '../../server/db/ids.ts'
import type { TestDatabase } from '../harness/postgres.ts'

// Rows of events and their dispatches, as the commit of an outcome stores them.

export function newEvent(accountId: string, change: Partial<DeliveryEvent> = {}): DeliveryEvent {
  const createdAtMs = Date.now()
  return {
    id: newId(createdAtMs),
    messageId: newId(createdAtMs),
    accountId,
    event: 'email.delivery',
    status: 'delivered',
    reason: null,
    recipient: 'ann@example.net',
    sandbox: false,
    smtp: null,
    inDoubt: false,
    retryable: false,
    tag: null,
    metadata: null,
    tenantId: null,
    payload: PAYLOAD_VERSION,
    createdAtMs,
    ...change,
  }
}

interface DispatchState {
  attempt?: number
  /** Seconds from now; negative for the past. */
  due?: number
  deadline?: number
  /** Seconds from now; null for none. */
  lease?: number | null
  workflowId?: string
  handedOver?: boolean
  /** Whether an attempt has begun and not ended. */
  started?: boolean
  kind?: 'original' | 'replay'
  /** Seconds ago. */
  age?: number
}

export async function storeDispatches(database: TestDatabase, events: StoredEvent[], state: DispatchState = {}) {
  const { attempt = 1, due = 0, deadline = 86_400, lease = null, workflowId, handedOver, started, age = 0 } = state
  const rows = events.map((event) => ({
    id: event.id,
    message_id: event.messageId,
    account_id: event.accountId,
    event: event.event,
    status: event.status,
    reason: event.reason,
    recipient: event.recipient,
    sandbox: event.sandbox,
    tag: event.tag,
    metadata: event.metadata,
    tenant_id: event.tenantId,
    payload: event.payload,
    created_at: new Date(event.createdAtMs),
    ...(event.event === 'email.delivery'
      ? { smtp: event.smtp, in_doubt: event.inDoubt, retryable: event.retryable }
      : { feedback: event.feedback, detail: event.detail }),
  }))
  const sql = database.db.$client
  await sql`
    with input as (
      select * from json_to_recordset(${JSON.stringify(rows)}::json) as r(id uuid, message_id uuid, account_id uuid, event text,
        status text, reason text, recipient text, sandbox boolean, tag text, metadata json, tenant_id text, payload smallint,
        created_at timestamptz, smtp json, in_doubt boolean, retryable boolean, feedback text, detail text)
    ),
    event as (
      insert into events (id, message_id, account_id, event, status, reason, recipient, sandbox, tag, metadata, tenant_id, payload,
        feedback, detail, created_at)
      select id, message_id, account_id, event, status, reason, recipient, sandbox, tag, metadata, tenant_id, payload,
        feedback, detail, created_at from input
    ),
    recipient as (
      insert into recipients (message_id, account_id, position, event_id, email, status, reason, retryable, in_doubt, smtp)
      select message_id, account_id, 0, id, recipient, status, reason, retryable, in_doubt, smtp from input
      where event = 'email.delivery'
    )
    insert into open_dispatches (id, event_id, message_id, account_id, kind, created_at, attempt, due_at, deadline_at, lease_until,
      workflow_id, handed_over_at, started_at)
    select id, id, message_id, account_id, ${state.kind ?? 'original'}, now() - ${age} * interval '1 second', ${attempt},
      now() + ${due} * interval '1 second', now() + ${deadline} * interval '1 second', now() + ${lease} * interval '1 second',
      ${workflowId ?? null}, ${handedOver ? sql`now()` : null}, ${started ? sql`now() - interval '5 seconds'` : null}
    from input`
}

/** Stores an endpoint for each account of these events. */
export async function storeEndpoints(database: TestDatabase, events: DeliveryEvent[]): Promise<void> {
  const accountIds = `{${events.map(({ accountId }) => accountId)}}`
  const sql = database.db.$client
  await sql`
    insert into accounts (id, name) select distinct id, 'Test' from unnest(${accountIds}::uuid[]) as id on conflict do nothing`
  await sql`
    insert into webhook_endpoints (account_id, url, secret)
    select distinct id, 'https://hooks.example.com/', ''::bytea from unnest(${accountIds}::uuid[]) as id on conflict do nothing`
}

export async function openDispatches(database: TestDatabase, events: DeliveryEvent[]) {
  const rows = await database.db.$client`
    select id, attempt, lease_until, workflow_id, handed_over_at, started_at, due_at > now() as waits
    from open_dispatches where id = any(${`{${events.map(({ id }) => id)}}`}::uuid[]) order by id`
  return rows.map((row) => ({ ...row }))
}

export async function attemptsOf(database: TestDatabase, { id }: DeliveryEvent) {
  const rows = await database.db.$client`
    select number, outcome, status_code, finished_at, excerpt, next_attempt_at from attempts where dispatch_id = ${id}
    order by number, started_at`
  return rows.map((row) => ({ ...row }))
}

export async function stateOf(database: TestDatabase, { id }: DeliveryEvent): Promise<string | undefined> {
  const [row] = await database.db.$client`select state from dispatches where id = ${id}`
  const [open] = await database.db.$client`select 1 from open_dispatches where id = ${id}`
  return row ? row.state : open && 'waiting'
}
