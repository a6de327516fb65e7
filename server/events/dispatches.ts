import type { DeliveryEvent } from './payload.ts'

// A dispatch is one run of the retry schedule for one event. The original one is born in the commit of the event, with the event's
// own id, when the account has an endpoint at that moment. A dry run has none.

/** Where an attempt goes, as the row of the endpoint has it at that moment. */
export interface TargetRow {
  accountId: string
  url: string
  /** Sealed, in base64. */
  secret: string
  /** Likewise; null when its time is over, or there is none. */
  previousSecret: string | null
}

/** SQL of the columns of a TargetRow; `w` is the row of webhook_endpoints. */
export const TARGET_COLUMNS = `
  w.account_id as "accountId", w.url, encode(w.secret, 'base64') as secret,
  case when w.previous_until > clock_timestamp() then encode(w.previous_secret, 'base64') end as "previousSecret"`

/** Who makes the first attempts of the events that this process stores. */
export interface FirstAttempts {
  /** How long they are its own; null leaves them to Temporal. */
  leaseMs: number | null
  /** Takes over an event that was stored with its dispatch a moment ago. Never waits, never throws. */
  offer(event: DeliveryEvent): void
}

export const LEFT_TO_TEMPORAL: FirstAttempts = { leaseMs: null, offer: () => {} }

/** No attempt begins later than this after the dispatch was born. */
export const WINDOW_HOURS = 24

/**
 * Opens the dispatches of the events that a statement stores. `leaseMs` is SQL. It expects two CTEs before it:
 *   message(id, account_id, created_at, sandbox)
 *   outcome(message_id, event_id)
 */
export const intoDispatches = (leaseMs: string) => `
  dispatched as (
    insert into open_dispatches (id, event_id, message_id, account_id, kind, created_at, due_at, deadline_at, lease_until)
    select o.event_id, o.event_id, m.id, m.account_id, 'original', now(), now(), now() + interval '${WINDOW_HOURS} hours',
      now() + ${leaseMs} * interval '1 millisecond'
    from outcome o
    join message m on m.id = o.message_id
    join webhook_endpoints w on w.account_id = m.account_id
    where not m.sandbox
    returning message_id
  )`
