-- Assigns the dispatches of closed workflows anew.
update open_dispatches set workflow_id = workflow_id || '-r', handed_over_at = null, looked_at = null
where workflow_id = any($1::text[])
