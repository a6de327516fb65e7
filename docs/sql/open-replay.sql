-- Creates the dispatches of a replay.
with opened as (
  insert into open_dispatches (id, event_id, message_id, account_id, endpoint_id, kind, created_at, due_at, deadline_at,
    workflow_id, traceparent)
  select r.id, r.event_id, r.message_id, w.account_id, w.id, 'replay', now(), now(),
    now() + interval '24 hours', r.workflow_id, r.traceparent
  from json_to_recordset($1::json) as r(id uuid, event_id uuid, message_id uuid, endpoint_id uuid,
    workflow_id text, traceparent text)
  join webhook_endpoints w on w.id = r.endpoint_id and w.account_id = $2
  returning endpoint_id
)
select w.id as "endpointId", w.url, (extract(epoch from now()::timestamptz(3)) * 1000)::float8 as "atMs"
from webhook_endpoints w where w.id in (select endpoint_id from opened)
