-- Creates the dispatches of a replay.
with endpoint as (
  select account_id, url from webhook_endpoints where account_id = $2
),
opened as (
  insert into open_dispatches
    (id, event_id, message_id, account_id, kind, created_at, due_at, deadline_at, workflow_id,
    traceparent)
  select r.id, r.event_id, r.message_id, e.account_id, 'replay', now(), now(),
    now() + interval '24 hours', r.workflow_id, r.traceparent
  from endpoint e, json_to_recordset($1::json) as r(id uuid, event_id uuid, message_id uuid,
    workflow_id text, traceparent text)
  returning created_at
)
select url, (select (extract(epoch from max(created_at)) * 1000)::float8 from opened) as "atMs" from endpoint
