/** SQL: the time of the events of `m`, a row of `message`, as their column holds it. */
export const EVENT_AT = 'greatest(m.created_at, now())::timestamptz(3)'

/**
 * SQL: the id of an event of `m`. It carries the event's timestamp, so a list by id is a list by timestamp, and a range of ids is a
 * range of times. `id` is the one made with the claim; its random part stays.
 */
export const eventIdOf = (id: string) =>
  `(lpad(to_hex((extract(epoch from ${EVENT_AT}) * 1000)::int8), 12, '0') || substr(${id}::text, 14))::uuid`

// How an outcome enters history. It expects two CTEs before it:
//   message(id, account_id, created_at, tenant_id, region, request, sandbox, checks, status, reason, size_bytes)
//   outcome(message_id, position, event_id, email, status, reason, retryable, in_doubt, smtp, suppression)
// One event for each recipient, in the same commit as the outcome.
export const INTO_HISTORY = `
  kept_messages as (
    insert into messages (
      id, account_id, status, reason, sandbox, tenant_id, region, size_bytes, created_at, completed_at, request, checks)
    select id, account_id, status, reason, sandbox, tenant_id, region, size_bytes, created_at, ${EVENT_AT},
      request, checks
    from message m
  ),
  kept_recipients as (
    insert into recipients (message_id, position, event_id, email, status, reason, retryable, in_doubt, smtp, suppression)
    select message_id, position, event_id, email, status, reason, retryable, in_doubt, smtp, suppression from outcome
  ),
  kept_events as (
    insert into events (id, message_id, account_id, status, reason, recipient, tenant_id, sandbox, created_at)
    select o.event_id, m.id, m.account_id, o.status, o.reason, o.email, m.tenant_id, m.sandbox, ${EVENT_AT}
    from outcome o join message m on m.id = o.message_id
  )`
