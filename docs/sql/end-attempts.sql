-- Stores the outcomes of attempts and ends acknowledged dispatches.
with input as materialized (
  select * from json_to_recordset($1::json) as r(
    id uuid, account_id uuid, number smallint, started_ms float8, finished_ms float8, outcome text,
    url_version int, status_code smallint, cause text, location text, phases json, excerpt text, excerpt_cut boolean,
    next_delay_ms float8)
),
acknowledged as (
  delete from open_dispatches d using input i where d.id = i.id and i.outcome = 'acked'
  returning d.*, i.finished_ms
),
failed as (
  update open_dispatches d set attempt = i.number + 1, started_at = null, lease_until = null,
    due_at = clock_timestamp() + coalesce(i.next_delay_ms, 0) * interval '1 millisecond'
  from input i where d.id = i.id and i.outcome <> 'acked' and d.attempt = i.number
  returning d.id, d.account_id, d.endpoint_id,
    case when i.next_delay_ms is not null and d.due_at <= d.deadline_at then d.due_at end as next_at
),
kept_attempts as (
  insert into attempts (
    dispatch_id, account_id, number, started_at, finished_at, outcome, url_version, status_code, cause, location,
      phases, excerpt,
    excerpt_cut, next_attempt_at)
  select i.id, i.account_id, i.number, to_timestamp(i.started_ms / 1000), to_timestamp(i.finished_ms / 1000), i.outcome,
    i.url_version, i.status_code, i.cause, i.location, i.phases, i.excerpt, i.excerpt_cut, f.next_at
  from input i left join failed f on f.id = i.id
  where i.outcome <> 'acked' or exists (select from acknowledged a where a.id = i.id)
  on conflict do nothing
),
kept_dispatches as (
  insert into dispatches (id, event_id, message_id, account_id, endpoint_id, kind, state, workflow_id, created_at,
    ended_at)
  select id, event_id, message_id, account_id, endpoint_id, kind, 'acknowledged', workflow_id, created_at,
    to_timestamp(finished_ms / 1000) from acknowledged
),
health as (
  insert into webhook_hours as h (
    account_id, endpoint_id, hour, acknowledged, failed, last_acknowledged_at, last_failed_at, failed_since)
  select account_id, endpoint_id, date_trunc('hour', clock_timestamp(), 'UTC'), sum(acked), sum(1 - acked),
    case when sum(acked) > 0 then clock_timestamp() end, case when sum(acked) < count(*) then clock_timestamp() end,
    case when sum(acked) > 0 then 0 else count(*) end
  from (
    select account_id, endpoint_id, 1 as acked from acknowledged
    union all select account_id, endpoint_id, 0 from failed
  ) e
  group by account_id, endpoint_id order by account_id, endpoint_id
  on conflict (account_id, endpoint_id, hour) do update set
    acknowledged = h.acknowledged + excluded.acknowledged,
    failed = h.failed + excluded.failed,
    last_acknowledged_at = coalesce(excluded.last_acknowledged_at, h.last_acknowledged_at),
    last_failed_at = coalesce(excluded.last_failed_at, h.last_failed_at),
    failed_since = case when excluded.acknowledged > 0 then 0 else h.failed_since + excluded.failed_since end
)
select id from acknowledged
