-- Reads sends from history, for repeats with their keys.
select id, domain, sandbox, checks from messages where id = any($1) and id between $2 and $3
