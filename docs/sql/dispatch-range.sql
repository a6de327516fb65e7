-- Makes one step of a replay of many events: creates dispatches and moves the replay on.
with replay as (
  update range_replays r set done_until = $4, dispatched = dispatched + $7::int, state = $6,
    ended_at = case when $6 <> 'running' then clock_timestamp() end
  where r.id = $1 and r.state = 'running' and r.done_until = $3
    and not exists (
      select from unnest($8::uuid[]) as wanted(id)
      where not exists (select from webhook_endpoints w where w.id = wanted.id and w.account_id = $2))
  returning r.id
),
opened as (
  insert into open_dispatches (id, event_id, message_id, account_id, endpoint_id, kind, created_at, due_at, deadline_at,
    workflow_id, traceparent)
  select r.id, r.event_id, r.message_id, w.account_id, w.id, 'replay', now(), now(),
    now() + interval '24 hours', r.workflow_id, r.traceparent
  from json_to_recordset($5::json) as r(id uuid, event_id uuid, message_id uuid, endpoint_id uuid,
    workflow_id text, traceparent text)
  join webhook_endpoints w on w.id = r.endpoint_id and w.account_id = $2 cross join replay
  returning endpoint_id
)
select (select count(*)::int from replay) as "isStored", coalesce((
  select json_agg(e) from (
select w.id as "endpointId", w.url, (extract(epoch from now()::timestamptz(3)) * 1000)::float8 as "atMs"
from webhook_endpoints w where w.id in (select endpoint_id from opened)) as e), '[]') as endpoints
