import type { JsonValue } from '@bufbuild/protobuf'
import { PAYLOAD_VERSION } from '../../server/db/delivery-event.ts'
import { asc, eq, inArray, sql } from '../../server/db/drizzle.ts'
import { newId } from '../../server/db/ids.ts'
import * as schema from '../../server/db/schema.ts'
import type { DispatchedEvent } from '../../server/ledger/first-attempts-offer.ts'
import type { TestDatabase } from '../harness/postgres.ts'

// Rows of events and their dispatches, as the commit of an outcome stores them.

/** An event with its dispatch to the account's endpoint, which has the account's id unless the test says otherwise. */
export function newEvent(accountId: string, change: Partial<DispatchedEvent> = {}): DispatchedEvent {
  const createdAtMs = Date.now()
  const id = newId(createdAtMs)
  return {
    id,
    dispatchId: id,
    endpointId: accountId,
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
    detail: null,
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

export async function storeDispatches({ db }: TestDatabase, events: DispatchedEvent[], state: DispatchState = {}) {
  const { attempt = 1, due = 0, deadline = 86_400, lease = null, workflowId, kind = 'original', age = 0 } = state
  const fromNow = (seconds: number) => sql`now() + ${seconds} * interval '1 second'`
  const dispatch = {
    kind,
    createdAt: fromNow(-age),
    attempt,
    dueAt: fromNow(due),
    deadlineAt: fromNow(deadline),
    leaseUntil: lease === null ? null : fromNow(lease),
    workflowId,
    handedOverAt: state.handedOver ? sql`now()` : null,
    startedAt: state.started ? fromNow(-5) : null,
  }
  await db.insert(schema.events).values(
    events.map(({ createdAtMs, dispatchId: _, endpointId: __, ...event }) => ({
      ...event,
      createdAt: new Date(createdAtMs),
    })),
  )
  await db.insert(schema.recipients).values(
    events.map(({ id, recipient, ...outcome }) => ({
      ...outcome,
      position: 0,
      eventId: id,
      email: recipient,
      smtp: outcome.smtp as JsonValue,
    })),
  )
  await db.insert(schema.openDispatches).values(
    events.map(({ id, dispatchId, messageId, accountId, endpointId }) => {
      return { ...dispatch, id: dispatchId, eventId: id, messageId, accountId, endpointId }
    }),
  )
}

/** Stores an endpoint for each account of these events. */
export async function storeEndpoints({ db }: TestDatabase, events: DispatchedEvent[]): Promise<void> {
  const accounts = events.map(({ accountId }) => ({ id: accountId, name: 'Test' }))
  await db.insert(schema.accounts).values(accounts).onConflictDoNothing()
  const endpoint = { url: 'https://hooks.example.com/', secret: Buffer.of() }
  await db
    .insert(schema.webhookEndpoints)
    .values(accounts.map(({ id }) => ({ ...endpoint, id, accountId: id, first: true })))
    .onConflictDoNothing()
}

export async function openDispatches({ db }: TestDatabase, events: DispatchedEvent[]) {
  const { id, attempt, leaseUntil, workflowId, handedOverAt, startedAt, dueAt } = schema.openDispatches
  const ids = events.map((event) => event.dispatchId)
  const waits = sql<boolean>`${dueAt} > now()`
  return db
    .select({ id, attempt, leaseUntil, workflowId, handedOverAt, startedAt, waits })
    .from(schema.openDispatches)
    .where(inArray(id, ids))
    .orderBy(asc(id))
}

export async function attemptsOf({ db }: TestDatabase, { dispatchId: id }: DispatchedEvent) {
  const { number, outcome, statusCode, finishedAt, excerpt, nextAttemptAt, startedAt } = schema.attempts
  return db
    .select({ number, outcome, statusCode, finishedAt, excerpt, nextAttemptAt })
    .from(schema.attempts)
    .where(eq(schema.attempts.dispatchId, id))
    .orderBy(asc(number), asc(startedAt))
}

export async function stateOf({ db }: TestDatabase, { dispatchId: id }: DispatchedEvent): Promise<string | undefined> {
  const [ended] = await db.select().from(schema.dispatches).where(eq(schema.dispatches.id, id))
  const open = await db.$count(schema.openDispatches, eq(schema.openDispatches.id, id))
  return ended?.state ?? (open > 0 ? 'waiting' : undefined)
}
