-- Makes one step of a replay of many events: creates dispatches and moves the replay on.
with endpoint as (
  select url from webhook_endpoints where account_id = $2
),
replay as (
  update range_replays r set done_until = $4, dispatched = dispatched + json_array_length($5::json), state = $6,
    ended_at = case when $6 <> 'running' then clock_timestamp() end
  from endpoint e where r.id = $1 and r.state = 'running' and r.done_until = $3
  returning e.url
),
opened as (
  insert into open_dispatches
    (id, event_id, message_id, account_id, kind, created_at, due_at, deadline_at, workflow_id,
    traceparent)
  select d.id, d.event_id, d.message_id, $2, 'replay', now(), now(), now() + interval '24 hours', d.workflow_id,
    d.traceparent
  from replay, json_to_recordset($5::json) as d(id uuid, event_id uuid, message_id uuid, workflow_id text,
    traceparent text)
)
select url, (extract(epoch from now()) * 1000)::float8 as "atMs" from replay
