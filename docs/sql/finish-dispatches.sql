-- Ends dispatches that are exhausted or cancelled.
with over as (
  delete from open_dispatches where id = any($1::uuid[])
  returning *
),
lost as (
  insert into attempts (dispatch_id, account_id, number, started_at, outcome)
  select id, account_id, attempt, started_at, 'unknown' from over where started_at is not null
  on conflict do nothing
)
  insert into dispatches (id, event_id, message_id, account_id, endpoint_id, kind, state, workflow_id, created_at,
    ended_at)
  select id, event_id, message_id, account_id, endpoint_id, kind,
    case when not exists (select from webhook_endpoints w where w.id = endpoint_id) then 'cancelled' else $2 end,
    workflow_id, created_at, greatest(created_at, clock_timestamp()) from over
