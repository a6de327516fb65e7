-- Leaves dispatches to Temporal whose lease is over.
with lost as (
  update open_dispatches set lease_until = null where lease_until < clock_timestamp() and workflow_id is null
  returning id, account_id, created_at
)
insert into attempts (dispatch_id, account_id, number, started_at, outcome)
select id, account_id, 1, created_at, 'unknown' from lost
on conflict do nothing
