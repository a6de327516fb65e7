-- Leaves first attempts that were not made to Temporal.
update open_dispatches set lease_until = null where id = any($1::uuid[]) and attempt = 1 and workflow_id is null
