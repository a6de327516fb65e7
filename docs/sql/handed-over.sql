-- Stores that workflows are started.
update open_dispatches set handed_over_at = clock_timestamp()
where workflow_id = any($1::text[]) and handed_over_at is null
