-- Finds workflows whose dispatches are overdue.
with overdue as materialized (
  select distinct workflow_id from open_dispatches
  where workflow_id is not null and handed_over_at is not null
    and due_at < clock_timestamp() - $1 * interval '1 millisecond'
    and (looked_at is null or looked_at < clock_timestamp() - $1 * interval '1 millisecond')
  limit 100
)
update open_dispatches d set looked_at = clock_timestamp() from overdue o where d.workflow_id = o.workflow_id
returning d.workflow_id as id
