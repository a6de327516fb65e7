-- Counts emails in a half-open breaker's minute.
with this as (select date_trunc('minute', now(), 'UTC') as minute),
admission as (
  update breakers set
    minute = this.minute + ($3::int - 1) / 10 * interval '1 minute',
    admitted = case when breakers.minute = this.minute then admitted else 0 end
      + $3::int - ($3::int - 1) / 10 * 10
  from this
  where account_id = $1 and domain = $2 and state = 'half_open'
    and (breakers.minute is null or breakers.minute < this.minute
      or breakers.minute = this.minute and admitted + $3::int <= 10)
  returning true
)
select state, exists (select from admission) as "isAdmitted",
  extract(epoch from case
    when state = 'open' then changed_at + $4::float8 * interval '1 minute'
    else greatest(breakers.minute, this.minute) + interval '1 minute'
  end - now())::float8 as "waitSeconds"
from breakers cross join this where account_id = $1 and domain = $2
