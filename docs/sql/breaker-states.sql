-- Reads the circuit breakers of an account's domains.
select input.domain, coalesce(state, 'closed') as state, changed_at as "changedAt", cause, copies, bounces, complaints,
  coalesce(extract(epoch from case
    when state = 'open' then changed_at + $3::float8 * interval '1 minute'
    when state = 'half_open' and minute + (admitted >= 10)::int * interval '1 minute' > now()
      then minute + interval '1 minute'
  end - now()), 0)::float8 as "waitSeconds"
from json_array_elements_text($2::text::json) as input(domain)
left join breakers b on b.account_id = $1 and b.domain = input.domain
cross join lateral (select date_trunc('hour', changed_at, 'UTC') as changed_hour) as change
cross join lateral (
  select case when state = 'half_open' then changed_hour
    else greatest(changed_hour, date_trunc('hour', now(), 'UTC') - interval '23 hours') end as since_hour
) as since
cross join lateral (
  select coalesce(sum(copies), 0)::int as copies, coalesce(sum(bounces), 0)::int as bounces,
    coalesce(sum(complaints), 0)::int as complaints
  from (
    select hourly.* from generate_series(since_hour, now(), interval '1 hour') as counted_hour
    cross join lateral (
      select delivered + mailbox_full + mailbox_does_not_exist + no_mx_record + connection_timeout + policy_block + spam_blocked + temporary_failure as copies, mailbox_does_not_exist + late_bounces - uncounted_late_bounces as bounces, complaints - uncounted_complaints as complaints
      from hourly_stats s
      where s.account_id = $1 and s.tenant_id = '' and s.hour = counted_hour and s.domain = input.domain
      offset 0
    ) as hourly
    union all
    select -base_emails, -base_bounces, -base_complaints where changed_hour >= since_hour
  ) as counted
) as sums
