-- Changes the state of a circuit breaker that is as it was read.
insert into breakers as kept (account_id, domain, state, cause, changed_at, base_emails, base_bounces, base_complaints)
select $1, $2, $3, $4, date_trunc('milliseconds', now()),
  coalesce(sum(delivered + mailbox_full + mailbox_does_not_exist + no_mx_record + connection_timeout + policy_block + spam_blocked + temporary_failure), 0), coalesce(sum(mailbox_does_not_exist + late_bounces - uncounted_late_bounces), 0), coalesce(sum(complaints - uncounted_complaints), 0)
from hourly_stats
where account_id = $1 and tenant_id = '' and hour = date_trunc('hour', now(), 'UTC') and domain = $2
on conflict (account_id, domain) do update set
  state = excluded.state, cause = excluded.cause, changed_at = excluded.changed_at, base_emails = excluded.base_emails,
  base_bounces = excluded.base_bounces, base_complaints = excluded.base_complaints, minute = null, admitted = 0
where kept.state = $5 and kept.changed_at = $6::timestamptz
