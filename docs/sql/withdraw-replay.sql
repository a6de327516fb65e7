-- Deletes the dispatches of a replay that was not started.
with rows as materialized (
  select id, attempt > 1 or started_at is not null or handed_over_at is not null as is_touched
  from open_dispatches where workflow_id = any($1::text[]) order by id for update
)
delete from open_dispatches d using rows r
where d.id = r.id and (select count(*) = $2 and not bool_or(is_touched) from rows)
returning d.id
