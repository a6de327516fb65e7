-- Reads dispatches that have no workflow yet.
select id, event_id as "eventId", endpoint_id as "endpointId", attempt,
(extract(epoch from due_at) * 1000)::float8 as "dueMs",
(extract(epoch from deadline_at) * 1000)::float8 as "deadlineMs",
  (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs"
from open_dispatches
where workflow_id is null and lease_until is null
order by endpoint_id, attempt, due_at limit 2000
for update skip locked
