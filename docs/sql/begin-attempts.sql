-- Begins later attempts of dispatches, made by workflows.
with input as materialized (
  select * from json_to_recordset($1::json) as r(id uuid, number smallint, early boolean)
),
waiting as materialized (
  select d.*, d.attempt = i.number as is_next, d.deadline_at < clock_timestamp() as is_late,
    i.early or d.due_at <= clock_timestamp() as is_due
  from open_dispatches d join input i on i.id = d.id
  order by d.id for update of d
),
lost as (
  insert into attempts (dispatch_id, account_id, number, started_at, outcome)
  select id, account_id, attempt, started_at, 'unknown' from waiting where is_next and is_due and started_at is not null
  on conflict do nothing
),
begun as (
  update open_dispatches d set started_at = clock_timestamp()
  from waiting b where d.id = b.id and b.is_next and b.is_due and not b.is_late
    and exists (select from webhook_endpoints e where e.id = b.endpoint_id)
  returning d.id, d.started_at
)
select d.id, d.attempt, d.event_id as "eventId", d.message_id as "messageId", d.is_due as "isDue",
  d.is_late as "isLate",
  (extract(epoch from begun.started_at) * 1000)::float8 as "startedAtMs", d.traceparent,
w.account_id as "accountId", w.id as "endpointId", w.url, w.url_version as "urlVersion", encode(w.secret,
  'base64') as secret,
case when w.previous_until > clock_timestamp() then encode(w.previous_secret, 'base64') end as "previousSecret"
from waiting d left join begun on begun.id = d.id
left join webhook_endpoints w on w.id = d.endpoint_id
