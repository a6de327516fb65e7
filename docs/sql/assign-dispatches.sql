-- Stores which workflows take dispatches on.
with input as (select * from json_to_recordset($1::json) as r(id uuid, workflow_id text))
update open_dispatches d set workflow_id = i.workflow_id from input i where d.id = i.id
