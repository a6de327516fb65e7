-- Cancels dispatches whose endpoint was deleted.
with orphan as materialized (
  select id from open_dispatches d
  where workflow_id is null and lease_until is null
    and not exists (select from webhook_endpoints w where w.id = d.endpoint_id)
  order by id for update skip locked
),
cancelled as (
  delete from open_dispatches d using orphan o where d.id = o.id returning d.*
)
  insert into dispatches (id, event_id, message_id, account_id, endpoint_id, kind, state, workflow_id, created_at,
    ended_at)
  select id, event_id, message_id, account_id, endpoint_id, kind, 'cancelled', workflow_id, created_at,
    greatest(created_at, clock_timestamp()) from cancelled
