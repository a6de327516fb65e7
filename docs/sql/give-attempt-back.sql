-- Undoes the beginning of an attempt that was not made.
update open_dispatches set started_at = null where id = $1 and attempt = $2
