-- Reads dispatches whose workflow may not be started.
with unstarted as materialized (
  select distinct workflow_id from open_dispatches
  where workflow_id is not null and handed_over_at is null
    and (kind = 'original' or created_at < clock_timestamp() - interval '10 seconds')
  limit 100
)
select d.workflow_id as "workflowId", d.kind, d.id, d.event_id as "eventId", d.message_id as "messageId",
  d.account_id as "accountId", d.endpoint_id as "endpointId", d.attempt, d.traceparent,
(extract(epoch from due_at) * 1000)::float8 as "dueMs",
(extract(epoch from deadline_at) * 1000)::float8 as "deadlineMs", w.url, a.outcome, a.status_code as "statusCode",
  a.cause
from unstarted u
join open_dispatches d on d.workflow_id = u.workflow_id
left join webhook_endpoints w on w.id = d.endpoint_id
left join lateral (
  select outcome, status_code, cause from attempts a where a.dispatch_id = d.id and a.number = d.attempt - 1
  order by started_at desc limit 1
) a on true
order by d.workflow_id, d.id
