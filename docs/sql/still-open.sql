-- Finds waiting dispatches of terminated workflows.
select workflow_id as id from open_dispatches
where workflow_id = any($1::text[]) and handed_over_at is not null
group by workflow_id
having bool_and(started_at is null or started_at < clock_timestamp() - interval '15 seconds')
