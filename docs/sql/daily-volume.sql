-- Reads how many emails a warming-up domain has sent today.
with new_row as (
  insert into warm_ups (account_id, domain, day, emails) values ($1, $2, $3, 0) on conflict do nothing
)
select emails from warm_ups where account_id = $1 and domain = $2 and day = $3
