-- Assigns the dispatches of closed workflows anew.
update open_dispatches set workflow_id =
regexp_replace(workflow_id, '(-[0-9a-z]{10})-r\d+$', '\1') || '-r' ||
(coalesce(substring(workflow_id from '-[0-9a-z]{10}-r(\d+)$')::int, 0) + 1), handed_over_at = null, looked_at = null
where workflow_id = any($1::text[])
