-- Reads how many emails an account with a quota has sent this month.
with new_row as (
  insert into monthly_emails (account_id, month, emails) values ($1, $2, 0) on conflict do nothing
)
select emails from monthly_emails where account_id = $1 and month = $2
