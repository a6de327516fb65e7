-- Every statement that a send or an event runs, whole: a fragment that several statements share shows in each of them.
-- `npm run gen` prints this file from dev/sql/statements.ts.

-- find-keys
-- Finds the sends that have these idempotency keys.
select q.n::int, k.message_id as "messageId", encode(k.request_hash, 'hex') as "requestHash",
  (extract(epoch from o.lease_until - clock_timestamp()) * 1000)::float8 as "leaseLeftMs"
from rows from (json_to_recordset($1::json) as (account_id uuid, scope text, key text))
  with ordinality as q(account_id, scope, key, n)
join idempotency_keys k on k.account_id = q.account_id and k.scope = q.scope and k.key = q.key and k.expires_at > now()
left join open_messages o on o.id = k.message_id;

-- find-recipient-keys
-- Finds the last messages to recipients of messages that came over SMTP.
with recursive wanted as materialized (
  select n::int, account_id, decode(key, 'hex') as key
  from rows from (json_to_recordset($1::json) as (account_id uuid, key text)) with ordinality as q(account_id, key, n)
),
expired as (
  delete from recipient_keys k using wanted w
  where k.account_id = w.account_id and k.key = w.key and k.expires_at <= now()
),
chain as (
  select w.n, k.message_id, k.position from wanted w
  join recipient_keys k on k.account_id = w.account_id and k.key = w.key and k.expires_at > now()
  union all
  select c.n, r.message_id, r.position from chain c
  join retries r on r.retried_id = c.message_id and r.retried_position = c.position
)
select c.n, c.message_id as "messageId", c.position::int,
  (extract(epoch from o.lease_until - clock_timestamp()) * 1000)::float8 as "leaseLeftMs"
from chain c left join open_messages o on o.id = c.message_id
where not exists (select from retries r where r.retried_id = c.message_id and r.retried_position = c.position);

-- renew-recipient-keys
-- Renews the keys of recipients before a retry.
update recipient_keys k set expires_at = now() + interval '24 hours'
from (
  select key from recipient_keys
  where account_id = $1 and key in (select decode(value, 'hex') from json_array_elements_text($2::json))
  order by key for update
) mine
where k.account_id = $1 and k.key = mine.key;

-- give-recipient-keys
-- Gives keys to recipients of a message after their answers, or when its client leaves.
insert into recipient_keys (account_id, key, message_id, position, expires_at)
select $1::uuid, decode(q.key, 'hex'), q.message_id, q.position, now() + q.hours * interval '1 hour'
from json_to_recordset($2::json) as q(key text, message_id uuid, position smallint, hours int)
order by 1, 2
on conflict (account_id, key) do update
  set message_id = excluded.message_id, position = excluded.position, expires_at = excluded.expires_at;

-- find-last-retry
-- Finds the message that a repeat waited for, after its key was taken away.
with recursive chain as (
  select $1::uuid as message_id, $2::smallint as position
  union all
  select r.message_id, r.position from chain c
  join retries r on r.retried_id = c.message_id and r.retried_position = c.position
)
select c.message_id as "messageId", c.position::int,
  (extract(epoch from o.lease_until - clock_timestamp()) * 1000)::float8 as "leaseLeftMs"
from chain c left join open_messages o on o.id = c.message_id
where not exists (select from retries r where r.retried_id = c.message_id and r.retried_position = c.position)
  and (o.id is not null or exists (select from recipients p where p.message_id = c.message_id));

-- take-recipient-keys-away
-- Takes keys away that have led a repeat to its answer.
delete from recipient_keys k using (
  select key from recipient_keys
  where account_id = $1 and key in (select decode(value, 'hex') from json_array_elements_text($2::json))
  order by key for update
) mine
where k.account_id = $1 and k.key = mine.key;

-- find-retried
-- Reads the message that a send retries.
select domain, tenant_id as "tenantId", sandbox,
  (select first_id from retries where message_id = $1 limit 1) as "firstId", (
    select json_agg(json_build_object('email', r.email, 'position', r.position, 'status', r.status, 'reason', r.reason,
      'retryable', r.retryable, 'inDoubt', r.in_doubt, 'senderPosition', own.sender_position,
      'retriedBy', later.message_id) order by r.position)
    from recipients r
    left join retries own on own.message_id = r.message_id and own.position = r.position
    left join retries later on later.retried_id = r.message_id and later.retried_position = r.position
    where r.message_id = $1
  ) as recipients
from messages where id = $1 and account_id = $2;

-- daily-volume
-- Reads how many emails a warming-up domain has sent today.
with new_row as (
  insert into warm_ups (account_id, domain, day, emails) values ($1, $2, $3, 0) on conflict do nothing
)
select emails from warm_ups where account_id = $1 and domain = $2 and day = $3;

-- monthly-volume
-- Reads how many emails an account with a quota has sent this month.
with new_row as (
  insert into monthly_emails (account_id, month, emails) values ($1, $2, 0) on conflict do nothing
)
select emails from monthly_emails where account_id = $1 and month = $2;

-- breaker-states
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
) as sums;

-- change-breaker
-- Changes the state of a circuit breaker that is as it was read.
insert into breakers as kept (account_id, domain, state, cause, changed_at, base_emails, base_bounces, base_complaints)
select $1, $2, $3, $4, date_trunc('milliseconds', now()),
  coalesce(sum(delivered + mailbox_full + mailbox_does_not_exist + no_mx_record + connection_timeout + policy_block + spam_blocked + temporary_failure), 0), coalesce(sum(mailbox_does_not_exist + late_bounces - uncounted_late_bounces), 0), coalesce(sum(complaints - uncounted_complaints), 0)
from hourly_stats
where account_id = $1 and tenant_id = '' and hour = date_trunc('hour', now(), 'UTC') and domain = $2
on conflict (account_id, domain) do update set
  state = excluded.state, cause = excluded.cause, changed_at = excluded.changed_at, base_emails = excluded.base_emails,
  base_bounces = excluded.base_bounces, base_complaints = excluded.base_complaints, minute = null, admitted = 0
where kept.state = $5 and kept.changed_at = $6::timestamptz;

-- admit-half-open
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
from breakers cross join this where account_id = $1 and domain = $2;

-- find-suppressions
-- Finds the widest suppression entry of each address.
select q.n::int, a.email, e.account_id, e.tenant_id, e.reason, e.since_ms
from rows from (json_to_recordset($1::json) as (account_id uuid, tenant_id text, addresses json))
  with ordinality as q(account_id, tenant_id, addresses, n)
cross join lateral json_array_elements_text(q.addresses) as a(email)
cross join lateral (
  select s.account_id, s.tenant_id, s.reason, (extract(epoch from s.created_at) * 1000)::float8 as since_ms
  from suppressions s
  where s.account_id in ('00000000-0000-0000-0000-000000000000',
    q.account_id) and s.email = a.email and s.tenant_id in ('', q.tenant_id)
    and (s.expires_at is null or s.expires_at > now())
  order by s.account_id = '00000000-0000-0000-0000-000000000000' desc, s.tenant_id = '' desc
  limit 1
) as e
union all
select 0, null, null, null, null, null from erasure_keys;

-- claim
-- Claims sends: message, recipients, idempotency key, warm-up and lease.
with
input as materialized (
  select * from json_to_recordset($1::json) as r(
    id uuid, account_id uuid, created_at timestamptz, tenant_id text, region text, domain text, request json,
      recipients json, key_scope text, key text, request_hash text, claim uuid, lease_ms int, day date, daily_limit int,
      emails int)
),
warm_up as materialized (
  select w.account_id, w.domain, w.day, w.emails as used from warm_ups w
  where (w.account_id, w.domain, w.day) in (select account_id, domain, day from input where day is not null)
  order by w.account_id, w.domain, w.day for update
),
admitted as materialized (
  select * from (
    select i.*, sum(i.emails) over (partition by i.account_id, i.domain, i.day order by i.emails, i.id) as emails_so_far
    from input i
  ) i
  where i.day is null or i.emails_so_far <= i.daily_limit - (
    select used from warm_up w where w.account_id = i.account_id and w.domain = i.domain and w.day = i.day)
),
taken_key as (
  insert into idempotency_keys as kept (account_id, scope, key, message_id, request_hash, expires_at)
  select distinct on (account_id, key_scope, key)
    account_id, key_scope, key, id, decode(request_hash, 'hex'), now() + interval '24 hours'
  from admitted where key is not null order by account_id, key_scope, key, id
  on conflict (account_id, scope, key) do update
  set message_id = excluded.message_id, request_hash = excluded.request_hash, expires_at = excluded.expires_at
  where kept.expires_at <= now()
  returning message_id
),
winner as materialized (
  select * from admitted where key is null or id in (select message_id from taken_key)
),
added_emails as (
  update warm_ups w set emails = w.emails + n.emails
  from (
    select account_id, domain, day, sum(emails) as emails from winner where day is not null group by 1, 2, 3
  ) n
  where w.account_id = n.account_id and w.domain = n.domain and w.day = n.day
),
message as (
  insert into open_messages (id, account_id, claim, lease_until, created_at, tenant_id, region, domain, request,
    key_scope, key, warm_up_day, warm_up_emails)
  select id, account_id, claim, now() + lease_ms * interval '1 millisecond', created_at, tenant_id, region,
    domain, request, key_scope, key, day, emails
  from winner
),
recipient as (
  insert into open_recipients (message_id, account_id, position, event_id, email, kind, claim, lease_until)
  select w.id, w.account_id, r.position, r.event_id, r.email, r.kind, w.claim,
    now() + w.lease_ms * interval '1 millisecond'
  from winner w, json_to_recordset(w.recipients) as r(position smallint, event_id uuid, email text, kind text)
)
select i.id, case
    when w.id is not null then 'claimed'
    when a.id is not null then 'key_taken'
    when i.emails <= i.daily_limit - (
      select used from warm_up w where w.account_id = i.account_id and w.domain = i.domain and w.day = i.day
    ) - coalesce((
      select sum(w.emails) from winner w where w.account_id = i.account_id and w.domain = i.domain and w.day = i.day
    ), 0) then 'room_left'
    else 'over_warm_up'
  end as result
from input i left join admitted a on a.id = i.id left join winner w on w.id = i.id;

-- claim-free
-- Claims sends that have neither an idempotency key nor a warm-up.
with
input as materialized (
  select * from json_to_recordset($1::json) as r(
    id uuid, account_id uuid, created_at timestamptz, tenant_id text, region text, domain text, request json,
      recipients json, key_scope text, key text, request_hash text, claim uuid, lease_ms int, day date, daily_limit int,
      emails int)
),
message as (
  insert into open_messages (id, account_id, claim, lease_until, created_at, tenant_id, region, domain, request,
    key_scope, key, warm_up_day, warm_up_emails)
  select id, account_id, claim, now() + lease_ms * interval '1 millisecond', created_at, tenant_id, region,
    domain, request, key_scope, key, day, emails
  from input
),
recipient as (
  insert into open_recipients (message_id, account_id, position, event_id, email, kind, claim, lease_until)
  select w.id, w.account_id, r.position, r.event_id, r.email, r.kind, w.claim,
    now() + w.lease_ms * interval '1 millisecond'
  from input w, json_to_recordset(w.recipients) as r(position smallint, event_id uuid, email text, kind text)
)
select id, 'claimed' as result from input;

-- claim-quota
-- The same for accounts with a quota: it is locked, checked and counted.
with
input as materialized (
  select * from json_to_recordset($1::json) as r(
    id uuid, account_id uuid, created_at timestamptz, tenant_id text, region text, domain text, request json,
      recipients json, key_scope text, key text, request_hash text, claim uuid, lease_ms int, day date, daily_limit int,
      emails int, month date, monthly_limit int)
),
warm_up as materialized (
  select w.account_id, w.domain, w.day, w.emails as used from warm_ups w
  where (w.account_id, w.domain, w.day) in (select account_id, domain, day from input where day is not null)
  order by w.account_id, w.domain, w.day for update
),
quota as materialized (
  select m.account_id, m.month, m.emails as used from monthly_emails m
  where (select count(*) from warm_up) >= 0
    and (m.account_id, m.month) in (select account_id, month from input where month is not null)
  order by m.account_id, m.month for update
),
admitted as materialized (
  select * from (
    select i.*, sum(i.emails) over (partition by i.account_id, i.domain, i.day order by i.emails,
      i.id) as emails_so_far,
      sum(i.emails) over (partition by i.account_id, i.month order by i.emails, i.id) as month_so_far
    from input i
  ) i
  where (i.day is null or i.emails_so_far <= i.daily_limit - (
    select used from warm_up w where w.account_id = i.account_id and w.domain = i.domain and w.day = i.day))
    and (i.month is null or i.month_so_far <= i.monthly_limit - (select used from quota q where q.account_id = i.account_id and q.month = i.month))
),
taken_key as (
  insert into idempotency_keys as kept (account_id, scope, key, message_id, request_hash, expires_at)
  select distinct on (account_id, key_scope, key)
    account_id, key_scope, key, id, decode(request_hash, 'hex'), now() + interval '24 hours'
  from admitted where key is not null order by account_id, key_scope, key, id
  on conflict (account_id, scope, key) do update
  set message_id = excluded.message_id, request_hash = excluded.request_hash, expires_at = excluded.expires_at
  where kept.expires_at <= now()
  returning message_id
),
winner as materialized (
  select * from admitted where key is null or id in (select message_id from taken_key)
),
added_emails as (
  update warm_ups w set emails = w.emails + n.emails
  from (
    select account_id, domain, day, sum(emails) as emails from winner where day is not null group by 1, 2, 3
  ) n
  where w.account_id = n.account_id and w.domain = n.domain and w.day = n.day
),
added_to_quota as (
  update monthly_emails m set emails = m.emails + n.emails
  from (
    select account_id, month, sum(emails) as emails from winner where month is not null group by 1, 2
  ) n
  where m.account_id = n.account_id and m.month = n.month
),
message as (
  insert into open_messages (id, account_id, claim, lease_until, created_at, tenant_id, region, domain, request,
    key_scope, key, warm_up_day, warm_up_emails, quota_month, quota_emails)
  select id, account_id, claim, now() + lease_ms * interval '1 millisecond', created_at, tenant_id, region,
    domain, request, key_scope, key, day, emails, month, emails
  from winner
),
recipient as (
  insert into open_recipients (message_id, account_id, position, event_id, email, kind, claim, lease_until)
  select w.id, w.account_id, r.position, r.event_id, r.email, r.kind, w.claim,
    now() + w.lease_ms * interval '1 millisecond'
  from winner w, json_to_recordset(w.recipients) as r(position smallint, event_id uuid, email text, kind text)
)
select i.id, case
    when w.id is not null then 'claimed'
    when a.id is not null then 'key_taken'
    when i.month is not null and (select used from quota q where q.account_id = i.account_id and q.month = i.month) is null then 'quota_missing'
    when i.emails > i.monthly_limit - (select used from quota q where q.account_id = i.account_id and q.month = i.month) - coalesce((
      select sum(w.emails) from winner w where w.account_id = i.account_id and w.month = i.month), 0) then 'over_quota'
    when i.day is null then 'room_left'
    when i.emails <= i.daily_limit - (
      select used from warm_up w where w.account_id = i.account_id and w.domain = i.domain and w.day = i.day
    ) - coalesce((
      select sum(w.emails) from winner w where w.account_id = i.account_id and w.domain = i.domain and w.day = i.day
    ), 0) then 'room_left'
    else 'over_warm_up'
  end as result
from input i left join admitted a on a.id = i.id left join winner w on w.id = i.id;

-- claim-retries
-- Claims sends that retry recipients of earlier messages.
with
input as materialized (
  select * from json_to_recordset($1::json) as r(
    id uuid, account_id uuid, created_at timestamptz, tenant_id text, region text, domain text, request json,
      recipients json, key_scope text, key text, request_hash text, claim uuid, lease_ms int, day date, daily_limit int,
      emails int, month date, monthly_limit int, retries json, recipient_keys json)
),
warm_up as materialized (
  select w.account_id, w.domain, w.day, w.emails as used from warm_ups w
  where (w.account_id, w.domain, w.day) in (select account_id, domain, day from input where day is not null)
  order by w.account_id, w.domain, w.day for update
),
quota as materialized (
  select m.account_id, m.month, m.emails as used from monthly_emails m
  where (select count(*) from warm_up) >= 0
    and (m.account_id, m.month) in (select account_id, month from input where month is not null)
  order by m.account_id, m.month for update
),
admitted as materialized (
  select * from (
    select i.*, sum(i.emails) over (partition by i.account_id, i.domain, i.day order by i.emails,
      i.id) as emails_so_far,
      sum(i.emails) over (partition by i.account_id, i.month order by i.emails, i.id) as month_so_far
    from input i
  ) i
  where (i.day is null or i.emails_so_far <= i.daily_limit - (
    select used from warm_up w where w.account_id = i.account_id and w.domain = i.domain and w.day = i.day))
    and (i.month is null or i.month_so_far <= i.monthly_limit - (select used from quota q where q.account_id = i.account_id and q.month = i.month))
),
taken_key as (
  insert into idempotency_keys as kept (account_id, scope, key, message_id, request_hash, expires_at)
  select distinct on (account_id, key_scope, key)
    account_id, key_scope, key, id, decode(request_hash, 'hex'), now() + interval '24 hours'
  from admitted where key is not null order by account_id, key_scope, key, id
  on conflict (account_id, scope, key) do update
  set message_id = excluded.message_id, request_hash = excluded.request_hash, expires_at = excluded.expires_at
  where kept.expires_at <= now()
  returning message_id
),
winner as materialized (
  select * from admitted where key is null or id in (select message_id from taken_key)
),
added_emails as (
  update warm_ups w set emails = w.emails + n.emails
  from (
    select account_id, domain, day, sum(emails) as emails from winner where day is not null group by 1, 2, 3
  ) n
  where w.account_id = n.account_id and w.domain = n.domain and w.day = n.day
),
added_to_quota as (
  update monthly_emails m set emails = m.emails + n.emails
  from (
    select account_id, month, sum(emails) as emails from winner where month is not null group by 1, 2
  ) n
  where m.account_id = n.account_id and m.month = n.month
),
message as (
  insert into open_messages (id, account_id, claim, lease_until, created_at, tenant_id, region, domain, request,
    key_scope, key, warm_up_day, warm_up_emails, quota_month, quota_emails)
  select id, account_id, claim, now() + lease_ms * interval '1 millisecond', created_at, tenant_id, region,
    domain, request, key_scope, key, day, emails, month, emails
  from winner
),
recipient as (
  insert into open_recipients (message_id, account_id, position, event_id, email, kind, claim, lease_until)
  select w.id, w.account_id, r.position, r.event_id, r.email, r.kind, w.claim,
    now() + w.lease_ms * interval '1 millisecond'
  from winner w, json_to_recordset(w.recipients) as r(position smallint, event_id uuid, email text, kind text)
),
taken_retry as (
  insert into retries (account_id, retried_id, retried_position, message_id, position, first_id, sender_position)
  select s.account_id, r.retried_id, r.retried_position, s.id, r.position, r.first_id, r.sender_position
  from winner s cross join lateral json_to_recordset(s.retries) as r(
    retried_id uuid, retried_position smallint, position smallint, first_id uuid, sender_position smallint)
  order by r.retried_id, r.retried_position
),
taken_recipient_key as (
  insert into recipient_keys (account_id, key, message_id, position, expires_at)
  select s.account_id, decode(k.key, 'hex'), s.id, k.position, now() + interval '24 hours'
  from winner s cross join lateral json_to_recordset(s.recipient_keys) as k(key text, position smallint)
  order by 1, 2
)
select i.id, case
    when w.id is not null then 'claimed'
    when a.id is not null then 'key_taken'
    when i.month is not null and (select used from quota q where q.account_id = i.account_id and q.month = i.month) is null then 'quota_missing'
    when i.emails > i.monthly_limit - (select used from quota q where q.account_id = i.account_id and q.month = i.month) - coalesce((
      select sum(w.emails) from winner w where w.account_id = i.account_id and w.month = i.month), 0) then 'over_quota'
    when i.day is null then 'room_left'
    when i.emails <= i.daily_limit - (
      select used from warm_up w where w.account_id = i.account_id and w.domain = i.domain and w.day = i.day
    ) - coalesce((
      select sum(w.emails) from winner w where w.account_id = i.account_id and w.domain = i.domain and w.day = i.day
    ), 0) then 'room_left'
    else 'over_warm_up'
  end as result
from input i left join admitted a on a.id = i.id left join winner w on w.id = i.id;

-- marker
-- Says, just before the final dot, that recipients may have the message.
with input as materialized (
  select i.message_id, i.claim, p.value::smallint as position, p.is_marked
  from json_to_recordset($1::json) as i(message_id uuid, claim uuid, positions json, taken_back json), lateral (
    select value, true as is_marked from json_array_elements_text(i.positions)
    union all
    select value, false from json_array_elements_text(i.taken_back)) as p
)
update open_recipients o set marked_at = case when i.is_marked then clock_timestamp() end
from input i
where o.message_id = i.message_id and o.position = i.position and o.claim = i.claim and o.lease_until > clock_timestamp()
returning o.message_id, o.position;

-- record
-- Ends claimed sends with the outcomes of their recipients.
with
input as materialized (
  select * from json_to_recordset($1::json) as r(
    message_id uuid, claim uuid, status text, reason text, size_bytes int, digest text, outcomes json, traceparent text)
),
message as (
  delete from open_messages m using input i where m.id = i.message_id and m.claim = i.claim
  returning m.id, m.account_id, m.created_at, m.tenant_id, m.region, m.request, m.domain, m.request ->> 'tag' as tag,
    m.request -> 'metadata' as metadata,
    false as sandbox, null::json as checks, i.status, i.reason, i.size_bytes, i.digest, i.outcomes,
    i.traceparent
),
recipient as (
  delete from open_recipients o using message m where o.message_id = m.id
  returning o.message_id, o.position, o.event_id, o.email, o.kind
),
outcome as (
  select r.message_id, r.email, r.kind, o.*,
    (lpad(to_hex((extract(epoch from greatest(m.created_at, now())::timestamptz(3)) * 1000)::int8), 12,
      '0') || substr(r.event_id::text, 14))::uuid as event_id
  from message m
  cross join lateral json_to_recordset(m.outcomes) as o(
    position smallint, status text, reason text, retryable boolean, in_doubt boolean, smtp json, suppression json,
      detail text, provider text, refusal text, proof_of_life boolean, address text, entry json)
  join recipient r on r.message_id = m.id and r.position = o.position
),
kept_message as (
  insert into messages (
    id, account_id, status, reason, sandbox, tenant_id, region, domain, tag, size_bytes, digest, created_at,
    completed_at, request, checks)
  select id, account_id, status, reason, sandbox, tenant_id, region, domain, tag, size_bytes,
    decode(digest, 'hex'), created_at,
    greatest(m.created_at, now())::timestamptz(3),
    request, checks
  from message m
),
kept_recipient as (
  insert into recipients (
    message_id, account_id, position, event_id, email, kind, status, reason, retryable, in_doubt, smtp, suppression,
    detail)
  select m.id, m.account_id, o.position, o.event_id, o.email, o.kind, o.status, o.reason, o.retryable, o.in_doubt,
    o.smtp, o.suppression, o.detail
  from outcome o join message m on m.id = o.message_id
),
event as (
  insert into events (
    id, message_id, account_id, status, reason, recipient, kind, tenant_id, sandbox, tag, metadata, payload,
    created_at)
  select o.event_id, m.id, m.account_id, o.status, o.reason, o.email, o.kind, m.tenant_id, m.sandbox,
    m.tag, m.metadata, 2,
    greatest(m.created_at, now())::timestamptz(3)
  from outcome o join message m on m.id = o.message_id
),
dispatch as (
  insert into open_dispatches (id, event_id, message_id, account_id, endpoint_id, kind, created_at, due_at,
    deadline_at, lease_until, traceparent)
  select
case when w.first then e.event_id else (
  select (left(e.event_id::text, 15) || left(hash, 3) || '-8' || substr(hash, 4, 3) || '-' || substr(hash, 7, 12))::uuid
  from md5(e.event_id::text || w.id::text) as hash
) end, e.event_id, e.message_id, e.account_id, w.id, 'original', now(), now(),
    now() + interval '24 hours', now() + $3::int * interval '1 millisecond', e.traceparent
  from (
    select o.event_id, o.message_id, o.status, m.account_id, m.traceparent, m.tenant_id, m.domain, m.tag
    from outcome o join message m on m.id = o.message_id
    where not m.sandbox
  ) e
  join webhook_endpoints w on w.account_id = e.account_id and not w.disabled
    and 'email.delivery' = any(w.events) and e.status = any(w.statuses)
    and (w.tags is null or e.tag = any(w.tags))
    and (w.tenant_ids is null or e.tenant_id = any(w.tenant_ids))
    and (w.domains is null or e.domain = any(w.domains))
  returning id, event_id, message_id, endpoint_id
),
counted_email as (
  select case when o.email like '%@simulator.test' then overlay(m.account_id::text placing '8' from 15)::uuid else m.account_id end as account_id, m.tenant_id, m.domain, o.status, o.reason, o.in_doubt, o.email, o.provider, m.tag,
    width_bucket(
      (extract(epoch from now() - m.created_at) * 1000)::float8,
      array[4, 6, 9, 14, 20, 30, 46, 68, 103, 154, 231, 346, 519, 778, 1168, 1752, 2627, 3941, 5912, 8867, 13301, 19952,
        29927, 44891]::float8[]
    ) as bucket
  from outcome o join message m on m.id = o.message_id
  where not m.sandbox
),
hourly_count as (
  insert into hourly_stats as kept (account_id, tenant_id, hour, domain, shard,
    delivered, mailbox_full, mailbox_does_not_exist, no_mx_record, connection_timeout, policy_block, spam_blocked,
      temporary_failure, suppression_list, invalid_address, domain_not_verified, in_doubt, latency_0, latency_1,
      latency_2, latency_3, latency_4, latency_5, latency_6, latency_7, latency_8, latency_9, latency_10, latency_11,
      latency_12, latency_13, latency_14, latency_15, latency_16, latency_17, latency_18, latency_19, latency_20,
      latency_21, latency_22, latency_23, latency_24)
  select account_id, tenant.id, date_trunc('hour', now(), 'UTC'), domain, $2::smallint,
    count(*) filter (where status = 'delivered'),
    count(*) filter (where reason = 'mailbox_full'),
    count(*) filter (where reason = 'mailbox_does_not_exist'),
    count(*) filter (where reason = 'no_mx_record'),
    count(*) filter (where reason = 'connection_timeout'),
    count(*) filter (where reason = 'policy_block'),
    count(*) filter (where reason = 'spam_blocked'),
    count(*) filter (where reason = 'temporary_failure'),
    count(*) filter (where reason = 'suppression_list'),
    count(*) filter (where reason = 'invalid_address'),
    count(*) filter (where reason = 'domain_not_verified'),
    count(*) filter (where in_doubt),
    count(*) filter (where status <> 'rejected' and bucket = 0),
    count(*) filter (where status <> 'rejected' and bucket = 1),
    count(*) filter (where status <> 'rejected' and bucket = 2),
    count(*) filter (where status <> 'rejected' and bucket = 3),
    count(*) filter (where status <> 'rejected' and bucket = 4),
    count(*) filter (where status <> 'rejected' and bucket = 5),
    count(*) filter (where status <> 'rejected' and bucket = 6),
    count(*) filter (where status <> 'rejected' and bucket = 7),
    count(*) filter (where status <> 'rejected' and bucket = 8),
    count(*) filter (where status <> 'rejected' and bucket = 9),
    count(*) filter (where status <> 'rejected' and bucket = 10),
    count(*) filter (where status <> 'rejected' and bucket = 11),
    count(*) filter (where status <> 'rejected' and bucket = 12),
    count(*) filter (where status <> 'rejected' and bucket = 13),
    count(*) filter (where status <> 'rejected' and bucket = 14),
    count(*) filter (where status <> 'rejected' and bucket = 15),
    count(*) filter (where status <> 'rejected' and bucket = 16),
    count(*) filter (where status <> 'rejected' and bucket = 17),
    count(*) filter (where status <> 'rejected' and bucket = 18),
    count(*) filter (where status <> 'rejected' and bucket = 19),
    count(*) filter (where status <> 'rejected' and bucket = 20),
    count(*) filter (where status <> 'rejected' and bucket = 21),
    count(*) filter (where status <> 'rejected' and bucket = 22),
    count(*) filter (where status <> 'rejected' and bucket = 23),
    count(*) filter (where status <> 'rejected' and bucket = 24)
  from counted_email cross join lateral (select '' as id union select tenant_id where tenant_id is not null) as tenant
  group by account_id, tenant.id, domain order by account_id, tenant.id, domain
  on conflict (account_id, tenant_id, hour, domain, shard) do update set
    delivered = kept.delivered + excluded.delivered,
    mailbox_full = kept.mailbox_full + excluded.mailbox_full,
    mailbox_does_not_exist = kept.mailbox_does_not_exist + excluded.mailbox_does_not_exist,
    no_mx_record = kept.no_mx_record + excluded.no_mx_record,
    connection_timeout = kept.connection_timeout + excluded.connection_timeout,
    policy_block = kept.policy_block + excluded.policy_block,
    spam_blocked = kept.spam_blocked + excluded.spam_blocked,
    temporary_failure = kept.temporary_failure + excluded.temporary_failure,
    suppression_list = kept.suppression_list + excluded.suppression_list,
    invalid_address = kept.invalid_address + excluded.invalid_address,
    domain_not_verified = kept.domain_not_verified + excluded.domain_not_verified,
    in_doubt = kept.in_doubt + excluded.in_doubt,
    latency_0 = kept.latency_0 + excluded.latency_0,
    latency_1 = kept.latency_1 + excluded.latency_1,
    latency_2 = kept.latency_2 + excluded.latency_2,
    latency_3 = kept.latency_3 + excluded.latency_3,
    latency_4 = kept.latency_4 + excluded.latency_4,
    latency_5 = kept.latency_5 + excluded.latency_5,
    latency_6 = kept.latency_6 + excluded.latency_6,
    latency_7 = kept.latency_7 + excluded.latency_7,
    latency_8 = kept.latency_8 + excluded.latency_8,
    latency_9 = kept.latency_9 + excluded.latency_9,
    latency_10 = kept.latency_10 + excluded.latency_10,
    latency_11 = kept.latency_11 + excluded.latency_11,
    latency_12 = kept.latency_12 + excluded.latency_12,
    latency_13 = kept.latency_13 + excluded.latency_13,
    latency_14 = kept.latency_14 + excluded.latency_14,
    latency_15 = kept.latency_15 + excluded.latency_15,
    latency_16 = kept.latency_16 + excluded.latency_16,
    latency_17 = kept.latency_17 + excluded.latency_17,
    latency_18 = kept.latency_18 + excluded.latency_18,
    latency_19 = kept.latency_19 + excluded.latency_19,
    latency_20 = kept.latency_20 + excluded.latency_20,
    latency_21 = kept.latency_21 + excluded.latency_21,
    latency_22 = kept.latency_22 + excluded.latency_22,
    latency_23 = kept.latency_23 + excluded.latency_23,
    latency_24 = kept.latency_24 + excluded.latency_24
),
open_count as (
  insert into open_stats (account_id, minute, tenant_id, domain, recipient_domain, provider, tag, status, reason,
    in_doubt, bucket)
  select account_id, date_trunc('minute', now()), coalesce(tenant_id, ''), domain, lower(split_part(email, '@',
    -1) collate "C"),
    provider, coalesce(tag, ''), status, reason, in_doubt, bucket
  from counted_email
),
refusal as (
  insert into refusals (event_id, account_id, tenant_id, email, kind, provider, proof_of_life)
  select distinct on (o.message_id, o.address)
    o.event_id, m.account_id, coalesce(m.tenant_id, ''), o.address, o.refusal, o.provider, o.proof_of_life
  from outcome o join message m on m.id = o.message_id
  where o.refusal is not null
  order by o.message_id, o.address, o.event_id
),
suppression as (
  insert into suppressions as kept (id, account_id, tenant_id, email, reason, message_id, detail, evidence,
    expires_at)
  select distinct on (m.account_id, o.address, coalesce(m.tenant_id, ''))
    o.event_id, m.account_id, coalesce(m.tenant_id, ''), o.address, e.reason, o.message_id,
    coalesce(o.smtp ->> 'reply', o.reason), e.evidence, now() + e.days * interval '1 day'
  from outcome o join message m on m.id = o.message_id
  cross join lateral json_to_record(o.entry) as e(reason text, days int, evidence json)
  where o.entry is not null
  order by m.account_id, o.address, coalesce(m.tenant_id, ''), e.days desc nulls first
  on conflict (account_id, email, tenant_id) do update set id = excluded.id, reason = excluded.reason,
    message_id = excluded.message_id, detail = excluded.detail, evidence = excluded.evidence, created_at = now(),
    expires_at = excluded.expires_at, import_id = null, replaced = null
  where kept.expires_at < coalesce(excluded.expires_at, 'infinity')
    or (kept.import_id is not null and excluded.expires_at is null)
)
select m.id, (extract(epoch from greatest(m.created_at, now())::timestamptz(3)) * 1000)::float8 as "eventsAtMs",
  (select json_agg(json_build_array(d.id, d.event_id, d.endpoint_id)) from dispatch d where d.message_id = m.id)
    as dispatches
from message m;

-- record-delivered
-- Ends claimed sends whose emails were all delivered.
with
input as materialized (
  select * from json_to_recordset($1::json) as r(
    message_id uuid, claim uuid, status text, reason text, size_bytes int, digest text, outcomes json, traceparent text)
),
message as (
  delete from open_messages m using input i where m.id = i.message_id and m.claim = i.claim
  returning m.id, m.account_id, m.created_at, m.tenant_id, m.region, m.request, m.domain, m.request ->> 'tag' as tag,
    m.request -> 'metadata' as metadata,
    false as sandbox, null::json as checks, i.status, i.reason, i.size_bytes, i.digest, i.outcomes,
    i.traceparent
),
recipient as (
  delete from open_recipients o using message m where o.message_id = m.id
  returning o.message_id, o.position, o.event_id, o.email, o.kind
),
outcome as (
  select r.message_id, r.email, r.kind, o.*,
    (lpad(to_hex((extract(epoch from greatest(m.created_at, now())::timestamptz(3)) * 1000)::int8), 12,
      '0') || substr(r.event_id::text, 14))::uuid as event_id
  from message m
  cross join lateral json_to_recordset(m.outcomes) as o(
    position smallint, status text, reason text, retryable boolean, in_doubt boolean, smtp json, suppression json,
      detail text, provider text, refusal text, proof_of_life boolean, address text, entry json)
  join recipient r on r.message_id = m.id and r.position = o.position
),
kept_message as (
  insert into messages (
    id, account_id, status, reason, sandbox, tenant_id, region, domain, tag, size_bytes, digest, created_at,
    completed_at, request, checks)
  select id, account_id, status, reason, sandbox, tenant_id, region, domain, tag, size_bytes,
    decode(digest, 'hex'), created_at,
    greatest(m.created_at, now())::timestamptz(3),
    request, checks
  from message m
),
kept_recipient as (
  insert into recipients (
    message_id, account_id, position, event_id, email, kind, status, reason, retryable, in_doubt, smtp, suppression,
    detail)
  select m.id, m.account_id, o.position, o.event_id, o.email, o.kind, o.status, o.reason, o.retryable, o.in_doubt,
    o.smtp, o.suppression, o.detail
  from outcome o join message m on m.id = o.message_id
),
event as (
  insert into events (
    id, message_id, account_id, status, reason, recipient, kind, tenant_id, sandbox, tag, metadata, payload,
    created_at)
  select o.event_id, m.id, m.account_id, o.status, o.reason, o.email, o.kind, m.tenant_id, m.sandbox,
    m.tag, m.metadata, 2,
    greatest(m.created_at, now())::timestamptz(3)
  from outcome o join message m on m.id = o.message_id
),
dispatch as (
  insert into open_dispatches (id, event_id, message_id, account_id, endpoint_id, kind, created_at, due_at,
    deadline_at, lease_until, traceparent)
  select
case when w.first then e.event_id else (
  select (left(e.event_id::text, 15) || left(hash, 3) || '-8' || substr(hash, 4, 3) || '-' || substr(hash, 7, 12))::uuid
  from md5(e.event_id::text || w.id::text) as hash
) end, e.event_id, e.message_id, e.account_id, w.id, 'original', now(), now(),
    now() + interval '24 hours', now() + $3::int * interval '1 millisecond', e.traceparent
  from (
    select o.event_id, o.message_id, o.status, m.account_id, m.traceparent, m.tenant_id, m.domain, m.tag
    from outcome o join message m on m.id = o.message_id
    where not m.sandbox
  ) e
  join webhook_endpoints w on w.account_id = e.account_id and not w.disabled
    and 'email.delivery' = any(w.events) and e.status = any(w.statuses)
    and (w.tags is null or e.tag = any(w.tags))
    and (w.tenant_ids is null or e.tenant_id = any(w.tenant_ids))
    and (w.domains is null or e.domain = any(w.domains))
  returning id, event_id, message_id, endpoint_id
),
counted_email as (
  select case when o.email like '%@simulator.test' then overlay(m.account_id::text placing '8' from 15)::uuid else m.account_id end as account_id, m.tenant_id, m.domain, o.status, o.reason, o.in_doubt, o.email, o.provider, m.tag,
    width_bucket(
      (extract(epoch from now() - m.created_at) * 1000)::float8,
      array[4, 6, 9, 14, 20, 30, 46, 68, 103, 154, 231, 346, 519, 778, 1168, 1752, 2627, 3941, 5912, 8867, 13301, 19952,
        29927, 44891]::float8[]
    ) as bucket
  from outcome o join message m on m.id = o.message_id
  where not m.sandbox
),
hourly_count as (
  insert into hourly_stats as kept (account_id, tenant_id, hour, domain, shard,
    delivered, latency_0, latency_1, latency_2, latency_3, latency_4, latency_5, latency_6, latency_7, latency_8,
      latency_9, latency_10, latency_11, latency_12, latency_13, latency_14, latency_15, latency_16, latency_17,
      latency_18, latency_19, latency_20, latency_21, latency_22, latency_23, latency_24)
  select account_id, tenant.id, date_trunc('hour', now(), 'UTC'), domain, $2::smallint,
    count(*) filter (where status = 'delivered'),
    count(*) filter (where status <> 'rejected' and bucket = 0),
    count(*) filter (where status <> 'rejected' and bucket = 1),
    count(*) filter (where status <> 'rejected' and bucket = 2),
    count(*) filter (where status <> 'rejected' and bucket = 3),
    count(*) filter (where status <> 'rejected' and bucket = 4),
    count(*) filter (where status <> 'rejected' and bucket = 5),
    count(*) filter (where status <> 'rejected' and bucket = 6),
    count(*) filter (where status <> 'rejected' and bucket = 7),
    count(*) filter (where status <> 'rejected' and bucket = 8),
    count(*) filter (where status <> 'rejected' and bucket = 9),
    count(*) filter (where status <> 'rejected' and bucket = 10),
    count(*) filter (where status <> 'rejected' and bucket = 11),
    count(*) filter (where status <> 'rejected' and bucket = 12),
    count(*) filter (where status <> 'rejected' and bucket = 13),
    count(*) filter (where status <> 'rejected' and bucket = 14),
    count(*) filter (where status <> 'rejected' and bucket = 15),
    count(*) filter (where status <> 'rejected' and bucket = 16),
    count(*) filter (where status <> 'rejected' and bucket = 17),
    count(*) filter (where status <> 'rejected' and bucket = 18),
    count(*) filter (where status <> 'rejected' and bucket = 19),
    count(*) filter (where status <> 'rejected' and bucket = 20),
    count(*) filter (where status <> 'rejected' and bucket = 21),
    count(*) filter (where status <> 'rejected' and bucket = 22),
    count(*) filter (where status <> 'rejected' and bucket = 23),
    count(*) filter (where status <> 'rejected' and bucket = 24)
  from counted_email cross join lateral (select '' as id union select tenant_id where tenant_id is not null) as tenant
  group by account_id, tenant.id, domain order by account_id, tenant.id, domain
  on conflict (account_id, tenant_id, hour, domain, shard) do update set
    delivered = kept.delivered + excluded.delivered,
    latency_0 = kept.latency_0 + excluded.latency_0,
    latency_1 = kept.latency_1 + excluded.latency_1,
    latency_2 = kept.latency_2 + excluded.latency_2,
    latency_3 = kept.latency_3 + excluded.latency_3,
    latency_4 = kept.latency_4 + excluded.latency_4,
    latency_5 = kept.latency_5 + excluded.latency_5,
    latency_6 = kept.latency_6 + excluded.latency_6,
    latency_7 = kept.latency_7 + excluded.latency_7,
    latency_8 = kept.latency_8 + excluded.latency_8,
    latency_9 = kept.latency_9 + excluded.latency_9,
    latency_10 = kept.latency_10 + excluded.latency_10,
    latency_11 = kept.latency_11 + excluded.latency_11,
    latency_12 = kept.latency_12 + excluded.latency_12,
    latency_13 = kept.latency_13 + excluded.latency_13,
    latency_14 = kept.latency_14 + excluded.latency_14,
    latency_15 = kept.latency_15 + excluded.latency_15,
    latency_16 = kept.latency_16 + excluded.latency_16,
    latency_17 = kept.latency_17 + excluded.latency_17,
    latency_18 = kept.latency_18 + excluded.latency_18,
    latency_19 = kept.latency_19 + excluded.latency_19,
    latency_20 = kept.latency_20 + excluded.latency_20,
    latency_21 = kept.latency_21 + excluded.latency_21,
    latency_22 = kept.latency_22 + excluded.latency_22,
    latency_23 = kept.latency_23 + excluded.latency_23,
    latency_24 = kept.latency_24 + excluded.latency_24
),
open_count as (
  insert into open_stats (account_id, minute, tenant_id, domain, recipient_domain, provider, tag, status, reason,
    in_doubt, bucket)
  select account_id, date_trunc('minute', now()), coalesce(tenant_id, ''), domain, lower(split_part(email, '@',
    -1) collate "C"),
    provider, coalesce(tag, ''), status, reason, in_doubt, bucket
  from counted_email
)
select m.id, (extract(epoch from greatest(m.created_at, now())::timestamptz(3)) * 1000)::float8 as "eventsAtMs",
  (select json_agg(json_build_array(d.id, d.event_id, d.endpoint_id)) from dispatch d where d.message_id = m.id)
    as dispatches
from message m;

-- settle
-- Claims and records sends that never reach SMTP.
with
input as materialized (
  select * from json_to_recordset($1::json) as r(
    id uuid, account_id uuid, created_at timestamptz, tenant_id text, region text, domain text, request json,
      recipients json, key_scope text, key text, request_hash text, sandbox boolean, checks json, status text,
      reason text, size_bytes int, digest text, outcomes json, traceparent text)
),
taken_key as (
  insert into idempotency_keys as kept (account_id, scope, key, message_id, request_hash, expires_at)
  select distinct on (account_id, key_scope, key)
    account_id, key_scope, key, id, decode(request_hash, 'hex'), now() + interval '24 hours'
  from input where key is not null order by account_id, key_scope, key, id
  on conflict (account_id, scope, key) do update
  set message_id = excluded.message_id, request_hash = excluded.request_hash, expires_at = excluded.expires_at
  where kept.expires_at <= now()
  returning message_id
),
message as materialized (
  select *, m.request ->> 'tag' as tag,
    m.request -> 'metadata' as metadata from input m where key is null or id in (select message_id from taken_key)
),
outcome as (
  select m.id as message_id, r.email, r.kind, o.*,
    (lpad(to_hex((extract(epoch from greatest(m.created_at, now())::timestamptz(3)) * 1000)::int8), 12,
      '0') || substr(r.event_id::text, 14))::uuid as event_id
  from message m
  cross join lateral json_to_recordset(m.recipients) as r(position smallint, event_id uuid, email text, kind text)
  join lateral json_to_recordset(m.outcomes) as o(
    position smallint, status text, reason text, retryable boolean, in_doubt boolean, smtp json, suppression json,
      detail text, provider text, refusal text, proof_of_life boolean, address text,
      entry json) on o.position = r.position
),
kept_message as (
  insert into messages (
    id, account_id, status, reason, sandbox, tenant_id, region, domain, tag, size_bytes, digest, created_at,
    completed_at, request, checks)
  select id, account_id, status, reason, sandbox, tenant_id, region, domain, tag, size_bytes,
    decode(digest, 'hex'), created_at,
    greatest(m.created_at, now())::timestamptz(3),
    request, checks
  from message m
),
kept_recipient as (
  insert into recipients (
    message_id, account_id, position, event_id, email, kind, status, reason, retryable, in_doubt, smtp, suppression,
    detail)
  select m.id, m.account_id, o.position, o.event_id, o.email, o.kind, o.status, o.reason, o.retryable, o.in_doubt,
    o.smtp, o.suppression, o.detail
  from outcome o join message m on m.id = o.message_id
),
event as (
  insert into events (
    id, message_id, account_id, status, reason, recipient, kind, tenant_id, sandbox, tag, metadata, payload,
    created_at)
  select o.event_id, m.id, m.account_id, o.status, o.reason, o.email, o.kind, m.tenant_id, m.sandbox,
    m.tag, m.metadata, 2,
    greatest(m.created_at, now())::timestamptz(3)
  from outcome o join message m on m.id = o.message_id
),
dispatch as (
  insert into open_dispatches (id, event_id, message_id, account_id, endpoint_id, kind, created_at, due_at,
    deadline_at, lease_until, traceparent)
  select
case when w.first then e.event_id else (
  select (left(e.event_id::text, 15) || left(hash, 3) || '-8' || substr(hash, 4, 3) || '-' || substr(hash, 7, 12))::uuid
  from md5(e.event_id::text || w.id::text) as hash
) end, e.event_id, e.message_id, e.account_id, w.id, 'original', now(), now(),
    now() + interval '24 hours', now() + $3::int * interval '1 millisecond', e.traceparent
  from (
    select o.event_id, o.message_id, o.status, m.account_id, m.traceparent, m.tenant_id, m.domain, m.tag
    from outcome o join message m on m.id = o.message_id
    where not m.sandbox
  ) e
  join webhook_endpoints w on w.account_id = e.account_id and not w.disabled
    and 'email.delivery' = any(w.events) and e.status = any(w.statuses)
    and (w.tags is null or e.tag = any(w.tags))
    and (w.tenant_ids is null or e.tenant_id = any(w.tenant_ids))
    and (w.domains is null or e.domain = any(w.domains))
  returning id, event_id, message_id, endpoint_id
),
counted_email as (
  select case when o.email like '%@simulator.test' then overlay(m.account_id::text placing '8' from 15)::uuid else m.account_id end as account_id, m.tenant_id, m.domain, o.status, o.reason, o.in_doubt, o.email, o.provider, m.tag,
    width_bucket(
      (extract(epoch from now() - m.created_at) * 1000)::float8,
      array[4, 6, 9, 14, 20, 30, 46, 68, 103, 154, 231, 346, 519, 778, 1168, 1752, 2627, 3941, 5912, 8867, 13301, 19952,
        29927, 44891]::float8[]
    ) as bucket
  from outcome o join message m on m.id = o.message_id
  where not m.sandbox
),
hourly_count as (
  insert into hourly_stats as kept (account_id, tenant_id, hour, domain, shard,
    delivered, mailbox_full, mailbox_does_not_exist, no_mx_record, connection_timeout, policy_block, spam_blocked,
      temporary_failure, suppression_list, invalid_address, domain_not_verified, in_doubt, latency_0, latency_1,
      latency_2, latency_3, latency_4, latency_5, latency_6, latency_7, latency_8, latency_9, latency_10, latency_11,
      latency_12, latency_13, latency_14, latency_15, latency_16, latency_17, latency_18, latency_19, latency_20,
      latency_21, latency_22, latency_23, latency_24)
  select account_id, tenant.id, date_trunc('hour', now(), 'UTC'), domain, $2::smallint,
    count(*) filter (where status = 'delivered'),
    count(*) filter (where reason = 'mailbox_full'),
    count(*) filter (where reason = 'mailbox_does_not_exist'),
    count(*) filter (where reason = 'no_mx_record'),
    count(*) filter (where reason = 'connection_timeout'),
    count(*) filter (where reason = 'policy_block'),
    count(*) filter (where reason = 'spam_blocked'),
    count(*) filter (where reason = 'temporary_failure'),
    count(*) filter (where reason = 'suppression_list'),
    count(*) filter (where reason = 'invalid_address'),
    count(*) filter (where reason = 'domain_not_verified'),
    count(*) filter (where in_doubt),
    count(*) filter (where status <> 'rejected' and bucket = 0),
    count(*) filter (where status <> 'rejected' and bucket = 1),
    count(*) filter (where status <> 'rejected' and bucket = 2),
    count(*) filter (where status <> 'rejected' and bucket = 3),
    count(*) filter (where status <> 'rejected' and bucket = 4),
    count(*) filter (where status <> 'rejected' and bucket = 5),
    count(*) filter (where status <> 'rejected' and bucket = 6),
    count(*) filter (where status <> 'rejected' and bucket = 7),
    count(*) filter (where status <> 'rejected' and bucket = 8),
    count(*) filter (where status <> 'rejected' and bucket = 9),
    count(*) filter (where status <> 'rejected' and bucket = 10),
    count(*) filter (where status <> 'rejected' and bucket = 11),
    count(*) filter (where status <> 'rejected' and bucket = 12),
    count(*) filter (where status <> 'rejected' and bucket = 13),
    count(*) filter (where status <> 'rejected' and bucket = 14),
    count(*) filter (where status <> 'rejected' and bucket = 15),
    count(*) filter (where status <> 'rejected' and bucket = 16),
    count(*) filter (where status <> 'rejected' and bucket = 17),
    count(*) filter (where status <> 'rejected' and bucket = 18),
    count(*) filter (where status <> 'rejected' and bucket = 19),
    count(*) filter (where status <> 'rejected' and bucket = 20),
    count(*) filter (where status <> 'rejected' and bucket = 21),
    count(*) filter (where status <> 'rejected' and bucket = 22),
    count(*) filter (where status <> 'rejected' and bucket = 23),
    count(*) filter (where status <> 'rejected' and bucket = 24)
  from counted_email cross join lateral (select '' as id union select tenant_id where tenant_id is not null) as tenant
  group by account_id, tenant.id, domain order by account_id, tenant.id, domain
  on conflict (account_id, tenant_id, hour, domain, shard) do update set
    delivered = kept.delivered + excluded.delivered,
    mailbox_full = kept.mailbox_full + excluded.mailbox_full,
    mailbox_does_not_exist = kept.mailbox_does_not_exist + excluded.mailbox_does_not_exist,
    no_mx_record = kept.no_mx_record + excluded.no_mx_record,
    connection_timeout = kept.connection_timeout + excluded.connection_timeout,
    policy_block = kept.policy_block + excluded.policy_block,
    spam_blocked = kept.spam_blocked + excluded.spam_blocked,
    temporary_failure = kept.temporary_failure + excluded.temporary_failure,
    suppression_list = kept.suppression_list + excluded.suppression_list,
    invalid_address = kept.invalid_address + excluded.invalid_address,
    domain_not_verified = kept.domain_not_verified + excluded.domain_not_verified,
    in_doubt = kept.in_doubt + excluded.in_doubt,
    latency_0 = kept.latency_0 + excluded.latency_0,
    latency_1 = kept.latency_1 + excluded.latency_1,
    latency_2 = kept.latency_2 + excluded.latency_2,
    latency_3 = kept.latency_3 + excluded.latency_3,
    latency_4 = kept.latency_4 + excluded.latency_4,
    latency_5 = kept.latency_5 + excluded.latency_5,
    latency_6 = kept.latency_6 + excluded.latency_6,
    latency_7 = kept.latency_7 + excluded.latency_7,
    latency_8 = kept.latency_8 + excluded.latency_8,
    latency_9 = kept.latency_9 + excluded.latency_9,
    latency_10 = kept.latency_10 + excluded.latency_10,
    latency_11 = kept.latency_11 + excluded.latency_11,
    latency_12 = kept.latency_12 + excluded.latency_12,
    latency_13 = kept.latency_13 + excluded.latency_13,
    latency_14 = kept.latency_14 + excluded.latency_14,
    latency_15 = kept.latency_15 + excluded.latency_15,
    latency_16 = kept.latency_16 + excluded.latency_16,
    latency_17 = kept.latency_17 + excluded.latency_17,
    latency_18 = kept.latency_18 + excluded.latency_18,
    latency_19 = kept.latency_19 + excluded.latency_19,
    latency_20 = kept.latency_20 + excluded.latency_20,
    latency_21 = kept.latency_21 + excluded.latency_21,
    latency_22 = kept.latency_22 + excluded.latency_22,
    latency_23 = kept.latency_23 + excluded.latency_23,
    latency_24 = kept.latency_24 + excluded.latency_24
),
open_count as (
  insert into open_stats (account_id, minute, tenant_id, domain, recipient_domain, provider, tag, status, reason,
    in_doubt, bucket)
  select account_id, date_trunc('minute', now()), coalesce(tenant_id, ''), domain, lower(split_part(email, '@',
    -1) collate "C"),
    provider, coalesce(tag, ''), status, reason, in_doubt, bucket
  from counted_email
),
refusal as (
  insert into refusals (event_id, account_id, tenant_id, email, kind, provider, proof_of_life)
  select distinct on (o.message_id, o.address)
    o.event_id, m.account_id, coalesce(m.tenant_id, ''), o.address, o.refusal, o.provider, o.proof_of_life
  from outcome o join message m on m.id = o.message_id
  where o.refusal is not null
  order by o.message_id, o.address, o.event_id
),
suppression as (
  insert into suppressions as kept (id, account_id, tenant_id, email, reason, message_id, detail, evidence,
    expires_at)
  select distinct on (m.account_id, o.address, coalesce(m.tenant_id, ''))
    o.event_id, m.account_id, coalesce(m.tenant_id, ''), o.address, e.reason, o.message_id,
    coalesce(o.smtp ->> 'reply', o.reason), e.evidence, now() + e.days * interval '1 day'
  from outcome o join message m on m.id = o.message_id
  cross join lateral json_to_record(o.entry) as e(reason text, days int, evidence json)
  where o.entry is not null
  order by m.account_id, o.address, coalesce(m.tenant_id, ''), e.days desc nulls first
  on conflict (account_id, email, tenant_id) do update set id = excluded.id, reason = excluded.reason,
    message_id = excluded.message_id, detail = excluded.detail, evidence = excluded.evidence, created_at = now(),
    expires_at = excluded.expires_at, import_id = null, replaced = null
  where kept.expires_at < coalesce(excluded.expires_at, 'infinity')
    or (kept.import_id is not null and excluded.expires_at is null)
)
select m.id, (extract(epoch from greatest(m.created_at, now())::timestamptz(3)) * 1000)::float8 as "eventsAtMs",
  (select json_agg(json_build_array(d.id, d.event_id, d.endpoint_id)) from dispatch d where d.message_id = m.id)
    as dispatches
from message m;

-- settle-retries
-- The same for sends that retry recipients of earlier messages.
with
input as materialized (
  select * from json_to_recordset($1::json) as r(
    id uuid, account_id uuid, created_at timestamptz, tenant_id text, region text, domain text, request json,
      recipients json, key_scope text, key text, request_hash text, sandbox boolean, checks json, status text,
      reason text, size_bytes int, digest text, outcomes json, traceparent text, retries json, recipient_keys json)
),
taken_key as (
  insert into idempotency_keys as kept (account_id, scope, key, message_id, request_hash, expires_at)
  select distinct on (account_id, key_scope, key)
    account_id, key_scope, key, id, decode(request_hash, 'hex'), now() + interval '24 hours'
  from input where key is not null order by account_id, key_scope, key, id
  on conflict (account_id, scope, key) do update
  set message_id = excluded.message_id, request_hash = excluded.request_hash, expires_at = excluded.expires_at
  where kept.expires_at <= now()
  returning message_id
),
message as materialized (
  select *, m.request ->> 'tag' as tag,
    m.request -> 'metadata' as metadata from input m where key is null or id in (select message_id from taken_key)
),
taken_retry as (
  insert into retries (account_id, retried_id, retried_position, message_id, position, first_id, sender_position)
  select s.account_id, r.retried_id, r.retried_position, s.id, r.position, r.first_id, r.sender_position
  from message s cross join lateral json_to_recordset(s.retries) as r(
    retried_id uuid, retried_position smallint, position smallint, first_id uuid, sender_position smallint)
  order by r.retried_id, r.retried_position
),
taken_recipient_key as (
  insert into recipient_keys (account_id, key, message_id, position, expires_at)
  select s.account_id, decode(k.key, 'hex'), s.id, k.position, now() + interval '24 hours'
  from message s cross join lateral json_to_recordset(s.recipient_keys) as k(key text, position smallint)
  order by 1, 2
),
outcome as (
  select m.id as message_id, r.email, r.kind, o.*,
    (lpad(to_hex((extract(epoch from greatest(m.created_at, now())::timestamptz(3)) * 1000)::int8), 12,
      '0') || substr(r.event_id::text, 14))::uuid as event_id
  from message m
  cross join lateral json_to_recordset(m.recipients) as r(position smallint, event_id uuid, email text, kind text)
  join lateral json_to_recordset(m.outcomes) as o(
    position smallint, status text, reason text, retryable boolean, in_doubt boolean, smtp json, suppression json,
      detail text, provider text, refusal text, proof_of_life boolean, address text,
      entry json) on o.position = r.position
),
kept_message as (
  insert into messages (
    id, account_id, status, reason, sandbox, tenant_id, region, domain, tag, size_bytes, digest, created_at,
    completed_at, request, checks)
  select id, account_id, status, reason, sandbox, tenant_id, region, domain, tag, size_bytes,
    decode(digest, 'hex'), created_at,
    greatest(m.created_at, now())::timestamptz(3),
    request, checks
  from message m
),
kept_recipient as (
  insert into recipients (
    message_id, account_id, position, event_id, email, kind, status, reason, retryable, in_doubt, smtp, suppression,
    detail)
  select m.id, m.account_id, o.position, o.event_id, o.email, o.kind, o.status, o.reason, o.retryable, o.in_doubt,
    o.smtp, o.suppression, o.detail
  from outcome o join message m on m.id = o.message_id
),
event as (
  insert into events (
    id, message_id, account_id, status, reason, recipient, kind, tenant_id, sandbox, tag, metadata, payload,
    created_at)
  select o.event_id, m.id, m.account_id, o.status, o.reason, o.email, o.kind, m.tenant_id, m.sandbox,
    m.tag, m.metadata, 2,
    greatest(m.created_at, now())::timestamptz(3)
  from outcome o join message m on m.id = o.message_id
),
dispatch as (
  insert into open_dispatches (id, event_id, message_id, account_id, endpoint_id, kind, created_at, due_at,
    deadline_at, lease_until, traceparent)
  select
case when w.first then e.event_id else (
  select (left(e.event_id::text, 15) || left(hash, 3) || '-8' || substr(hash, 4, 3) || '-' || substr(hash, 7, 12))::uuid
  from md5(e.event_id::text || w.id::text) as hash
) end, e.event_id, e.message_id, e.account_id, w.id, 'original', now(), now(),
    now() + interval '24 hours', now() + $3::int * interval '1 millisecond', e.traceparent
  from (
    select o.event_id, o.message_id, o.status, m.account_id, m.traceparent, m.tenant_id, m.domain, m.tag
    from outcome o join message m on m.id = o.message_id
    where not m.sandbox
  ) e
  join webhook_endpoints w on w.account_id = e.account_id and not w.disabled
    and 'email.delivery' = any(w.events) and e.status = any(w.statuses)
    and (w.tags is null or e.tag = any(w.tags))
    and (w.tenant_ids is null or e.tenant_id = any(w.tenant_ids))
    and (w.domains is null or e.domain = any(w.domains))
  returning id, event_id, message_id, endpoint_id
),
counted_email as (
  select case when o.email like '%@simulator.test' then overlay(m.account_id::text placing '8' from 15)::uuid else m.account_id end as account_id, m.tenant_id, m.domain, o.status, o.reason, o.in_doubt, o.email, o.provider, m.tag,
    width_bucket(
      (extract(epoch from now() - m.created_at) * 1000)::float8,
      array[4, 6, 9, 14, 20, 30, 46, 68, 103, 154, 231, 346, 519, 778, 1168, 1752, 2627, 3941, 5912, 8867, 13301, 19952,
        29927, 44891]::float8[]
    ) as bucket
  from outcome o join message m on m.id = o.message_id
  where not m.sandbox
),
hourly_count as (
  insert into hourly_stats as kept (account_id, tenant_id, hour, domain, shard,
    delivered, mailbox_full, mailbox_does_not_exist, no_mx_record, connection_timeout, policy_block, spam_blocked,
      temporary_failure, suppression_list, invalid_address, domain_not_verified, in_doubt, latency_0, latency_1,
      latency_2, latency_3, latency_4, latency_5, latency_6, latency_7, latency_8, latency_9, latency_10, latency_11,
      latency_12, latency_13, latency_14, latency_15, latency_16, latency_17, latency_18, latency_19, latency_20,
      latency_21, latency_22, latency_23, latency_24)
  select account_id, tenant.id, date_trunc('hour', now(), 'UTC'), domain, $2::smallint,
    count(*) filter (where status = 'delivered'),
    count(*) filter (where reason = 'mailbox_full'),
    count(*) filter (where reason = 'mailbox_does_not_exist'),
    count(*) filter (where reason = 'no_mx_record'),
    count(*) filter (where reason = 'connection_timeout'),
    count(*) filter (where reason = 'policy_block'),
    count(*) filter (where reason = 'spam_blocked'),
    count(*) filter (where reason = 'temporary_failure'),
    count(*) filter (where reason = 'suppression_list'),
    count(*) filter (where reason = 'invalid_address'),
    count(*) filter (where reason = 'domain_not_verified'),
    count(*) filter (where in_doubt),
    count(*) filter (where status <> 'rejected' and bucket = 0),
    count(*) filter (where status <> 'rejected' and bucket = 1),
    count(*) filter (where status <> 'rejected' and bucket = 2),
    count(*) filter (where status <> 'rejected' and bucket = 3),
    count(*) filter (where status <> 'rejected' and bucket = 4),
    count(*) filter (where status <> 'rejected' and bucket = 5),
    count(*) filter (where status <> 'rejected' and bucket = 6),
    count(*) filter (where status <> 'rejected' and bucket = 7),
    count(*) filter (where status <> 'rejected' and bucket = 8),
    count(*) filter (where status <> 'rejected' and bucket = 9),
    count(*) filter (where status <> 'rejected' and bucket = 10),
    count(*) filter (where status <> 'rejected' and bucket = 11),
    count(*) filter (where status <> 'rejected' and bucket = 12),
    count(*) filter (where status <> 'rejected' and bucket = 13),
    count(*) filter (where status <> 'rejected' and bucket = 14),
    count(*) filter (where status <> 'rejected' and bucket = 15),
    count(*) filter (where status <> 'rejected' and bucket = 16),
    count(*) filter (where status <> 'rejected' and bucket = 17),
    count(*) filter (where status <> 'rejected' and bucket = 18),
    count(*) filter (where status <> 'rejected' and bucket = 19),
    count(*) filter (where status <> 'rejected' and bucket = 20),
    count(*) filter (where status <> 'rejected' and bucket = 21),
    count(*) filter (where status <> 'rejected' and bucket = 22),
    count(*) filter (where status <> 'rejected' and bucket = 23),
    count(*) filter (where status <> 'rejected' and bucket = 24)
  from counted_email cross join lateral (select '' as id union select tenant_id where tenant_id is not null) as tenant
  group by account_id, tenant.id, domain order by account_id, tenant.id, domain
  on conflict (account_id, tenant_id, hour, domain, shard) do update set
    delivered = kept.delivered + excluded.delivered,
    mailbox_full = kept.mailbox_full + excluded.mailbox_full,
    mailbox_does_not_exist = kept.mailbox_does_not_exist + excluded.mailbox_does_not_exist,
    no_mx_record = kept.no_mx_record + excluded.no_mx_record,
    connection_timeout = kept.connection_timeout + excluded.connection_timeout,
    policy_block = kept.policy_block + excluded.policy_block,
    spam_blocked = kept.spam_blocked + excluded.spam_blocked,
    temporary_failure = kept.temporary_failure + excluded.temporary_failure,
    suppression_list = kept.suppression_list + excluded.suppression_list,
    invalid_address = kept.invalid_address + excluded.invalid_address,
    domain_not_verified = kept.domain_not_verified + excluded.domain_not_verified,
    in_doubt = kept.in_doubt + excluded.in_doubt,
    latency_0 = kept.latency_0 + excluded.latency_0,
    latency_1 = kept.latency_1 + excluded.latency_1,
    latency_2 = kept.latency_2 + excluded.latency_2,
    latency_3 = kept.latency_3 + excluded.latency_3,
    latency_4 = kept.latency_4 + excluded.latency_4,
    latency_5 = kept.latency_5 + excluded.latency_5,
    latency_6 = kept.latency_6 + excluded.latency_6,
    latency_7 = kept.latency_7 + excluded.latency_7,
    latency_8 = kept.latency_8 + excluded.latency_8,
    latency_9 = kept.latency_9 + excluded.latency_9,
    latency_10 = kept.latency_10 + excluded.latency_10,
    latency_11 = kept.latency_11 + excluded.latency_11,
    latency_12 = kept.latency_12 + excluded.latency_12,
    latency_13 = kept.latency_13 + excluded.latency_13,
    latency_14 = kept.latency_14 + excluded.latency_14,
    latency_15 = kept.latency_15 + excluded.latency_15,
    latency_16 = kept.latency_16 + excluded.latency_16,
    latency_17 = kept.latency_17 + excluded.latency_17,
    latency_18 = kept.latency_18 + excluded.latency_18,
    latency_19 = kept.latency_19 + excluded.latency_19,
    latency_20 = kept.latency_20 + excluded.latency_20,
    latency_21 = kept.latency_21 + excluded.latency_21,
    latency_22 = kept.latency_22 + excluded.latency_22,
    latency_23 = kept.latency_23 + excluded.latency_23,
    latency_24 = kept.latency_24 + excluded.latency_24
),
open_count as (
  insert into open_stats (account_id, minute, tenant_id, domain, recipient_domain, provider, tag, status, reason,
    in_doubt, bucket)
  select account_id, date_trunc('minute', now()), coalesce(tenant_id, ''), domain, lower(split_part(email, '@',
    -1) collate "C"),
    provider, coalesce(tag, ''), status, reason, in_doubt, bucket
  from counted_email
),
refusal as (
  insert into refusals (event_id, account_id, tenant_id, email, kind, provider, proof_of_life)
  select distinct on (o.message_id, o.address)
    o.event_id, m.account_id, coalesce(m.tenant_id, ''), o.address, o.refusal, o.provider, o.proof_of_life
  from outcome o join message m on m.id = o.message_id
  where o.refusal is not null
  order by o.message_id, o.address, o.event_id
),
suppression as (
  insert into suppressions as kept (id, account_id, tenant_id, email, reason, message_id, detail, evidence,
    expires_at)
  select distinct on (m.account_id, o.address, coalesce(m.tenant_id, ''))
    o.event_id, m.account_id, coalesce(m.tenant_id, ''), o.address, e.reason, o.message_id,
    coalesce(o.smtp ->> 'reply', o.reason), e.evidence, now() + e.days * interval '1 day'
  from outcome o join message m on m.id = o.message_id
  cross join lateral json_to_record(o.entry) as e(reason text, days int, evidence json)
  where o.entry is not null
  order by m.account_id, o.address, coalesce(m.tenant_id, ''), e.days desc nulls first
  on conflict (account_id, email, tenant_id) do update set id = excluded.id, reason = excluded.reason,
    message_id = excluded.message_id, detail = excluded.detail, evidence = excluded.evidence, created_at = now(),
    expires_at = excluded.expires_at, import_id = null, replaced = null
  where kept.expires_at < coalesce(excluded.expires_at, 'infinity')
    or (kept.import_id is not null and excluded.expires_at is null)
)
select m.id, (extract(epoch from greatest(m.created_at, now())::timestamptz(3)) * 1000)::float8 as "eventsAtMs",
  (select json_agg(json_build_array(d.id, d.event_id, d.endpoint_id)) from dispatch d where d.message_id = m.id)
    as dispatches
from message m;

-- release
-- Deletes a claim without a marker, as if the request had never come.
with message as (
  select id from open_messages where id = $1 and claim = $2 for update
),
recipient as (
  select marked_at from open_recipients where message_id in (select id from message) for update
),
released as (
  delete from open_messages where id in (select id from message)
    and ($3 or not exists (select from recipient where marked_at is not null))
  returning *
),
released_recipient as (
  delete from open_recipients where message_id in (select id from released)
),
returned_share as (
  update warm_ups w set emails = w.emails - r.emails
  from (
    select account_id, domain, warm_up_day as day, sum(warm_up_emails) as emails from released
    where warm_up_day is not null group by 1, 2, 3 order by 1, 2, 3
  ) r
  where w.account_id = r.account_id and w.domain = r.domain and w.day = r.day
  returning true
),
returned_quota as (
  update monthly_emails m set emails = m.emails - r.emails
  from (
    select account_id, quota_month as month, sum(quota_emails) as emails from released
    where quota_month is not null group by 1, 2 order by 1, 2
  ) r
  where (select count(*) from returned_share) >= 0 and m.account_id = r.account_id and m.month = r.month
  returning true
),
freed_key as (
  delete from idempotency_keys k
  using (select account_id, key_scope, key, id from released order by 1, 2, 3) r
  where (select count(*) from returned_quota) >= 0
    and k.account_id = r.account_id and k.scope = r.key_scope and k.key = r.key and k.message_id = r.id
  returning true
),
freed_retry as (
  delete from retries t using released r
  where (select count(*) from freed_key) >= 0 and t.message_id = r.id
  returning true
),
freed_recipient_key as (
  delete from recipient_keys k using released r
  where (select count(*) from freed_retry) >= 0 and k.message_id = r.id
)
select id from released;

-- sweep
-- Settles or releases the sends whose lease is over.
with due as materialized (
  select id from open_messages where lease_until < clock_timestamp() and true
    and not exists (select from leases where name = 'sweep_rest' and until > clock_timestamp()) order by id limit 100
  for update skip locked
),
due_message as (
  delete from open_messages m using due where m.id = due.id
  returning m.*
),
recipient as (
  delete from open_recipients o using due where o.message_id = due.id
  returning o.message_id, o.position, o.event_id, o.email, o.kind, o.marked_at is not null as marked
),
outcome as (
  select o.message_id, o.position, o.email, o.kind, 'bounced' as status,
    case when o.marked then 'connection_timeout' else 'temporary_failure' end as reason,
    not o.marked as retryable, o.marked as in_doubt, null::json as smtp, null::json as suppression,
    case when not o.marked then 'a fault of this service: it stopped before this recipient was tried' end as detail,
    '' as provider, null as refusal, false as proof_of_life, null as address, null::json as entry,
    (lpad(to_hex((extract(epoch from greatest(m.created_at, now())::timestamptz(3)) * 1000)::int8), 12,
      '0') || substr(o.event_id::text, 14))::uuid as event_id
  from recipient o join due_message m on m.id = o.message_id
  where o.message_id in (select message_id from recipient where marked)
),
message as (
  select m.*, m.request ->> 'tag' as tag, m.request -> 'metadata' as metadata, false as sandbox, null::json as checks,
    first.status, first.reason, 0 as size_bytes, null::text as digest,
    null::text as traceparent
  from due_message m join outcome first on first.message_id = m.id and first.position = 0
),
released as (
  select * from due_message where id not in (select id from message)
),
returned_share as (
  update warm_ups w set emails = w.emails - r.emails
  from (
    select account_id, domain, warm_up_day as day, sum(warm_up_emails) as emails from released
    where warm_up_day is not null group by 1, 2, 3 order by 1, 2, 3
  ) r
  where w.account_id = r.account_id and w.domain = r.domain and w.day = r.day
  returning true
),
returned_quota as (
  update monthly_emails m set emails = m.emails - r.emails
  from (
    select account_id, quota_month as month, sum(quota_emails) as emails from released
    where quota_month is not null group by 1, 2 order by 1, 2
  ) r
  where (select count(*) from returned_share) >= 0 and m.account_id = r.account_id and m.month = r.month
  returning true
),
freed_key as (
  delete from idempotency_keys k
  using (select account_id, key_scope, key, id from released order by 1, 2, 3) r
  where (select count(*) from returned_quota) >= 0
    and k.account_id = r.account_id and k.scope = r.key_scope and k.key = r.key and k.message_id = r.id
  returning true
),
freed_retry as (
  delete from retries t using released r
  where (select count(*) from freed_key) >= 0 and t.message_id = r.id
  returning true
),
freed_recipient_key as (
  delete from recipient_keys k using released r
  where (select count(*) from freed_retry) >= 0 and k.message_id = r.id
),
kept_message as (
  insert into messages (
    id, account_id, status, reason, sandbox, tenant_id, region, domain, tag, size_bytes, digest, created_at,
    completed_at, request, checks)
  select id, account_id, status, reason, sandbox, tenant_id, region, domain, tag, size_bytes,
    decode(digest, 'hex'), created_at,
    greatest(m.created_at, now())::timestamptz(3),
    request, checks
  from message m
),
kept_recipient as (
  insert into recipients (
    message_id, account_id, position, event_id, email, kind, status, reason, retryable, in_doubt, smtp, suppression,
    detail)
  select m.id, m.account_id, o.position, o.event_id, o.email, o.kind, o.status, o.reason, o.retryable, o.in_doubt,
    o.smtp, o.suppression, o.detail
  from outcome o join message m on m.id = o.message_id
),
event as (
  insert into events (
    id, message_id, account_id, status, reason, recipient, kind, tenant_id, sandbox, tag, metadata, payload,
    created_at)
  select o.event_id, m.id, m.account_id, o.status, o.reason, o.email, o.kind, m.tenant_id, m.sandbox,
    m.tag, m.metadata, 2,
    greatest(m.created_at, now())::timestamptz(3)
  from outcome o join message m on m.id = o.message_id
),
dispatch as (
  insert into open_dispatches (id, event_id, message_id, account_id, endpoint_id, kind, created_at, due_at,
    deadline_at, lease_until, traceparent)
  select
case when w.first then e.event_id else (
  select (left(e.event_id::text, 15) || left(hash, 3) || '-8' || substr(hash, 4, 3) || '-' || substr(hash, 7, 12))::uuid
  from md5(e.event_id::text || w.id::text) as hash
) end, e.event_id, e.message_id, e.account_id, w.id, 'original', now(), now(),
    now() + interval '24 hours', now() + null * interval '1 millisecond', e.traceparent
  from (
    select o.event_id, o.message_id, o.status, m.account_id, m.traceparent, m.tenant_id, m.domain, m.tag
    from outcome o join message m on m.id = o.message_id
    where not m.sandbox
  ) e
  join webhook_endpoints w on w.account_id = e.account_id and not w.disabled
    and 'email.delivery' = any(w.events) and e.status = any(w.statuses)
    and (w.tags is null or e.tag = any(w.tags))
    and (w.tenant_ids is null or e.tenant_id = any(w.tenant_ids))
    and (w.domains is null or e.domain = any(w.domains))
  returning id, event_id, message_id, endpoint_id
),
counted_email as (
  select case when o.email like '%@simulator.test' then overlay(m.account_id::text placing '8' from 15)::uuid else m.account_id end as account_id, m.tenant_id, m.domain, o.status, o.reason, o.in_doubt, o.email, o.provider, m.tag,
    width_bucket(
      (extract(epoch from now() - m.created_at) * 1000)::float8,
      array[4, 6, 9, 14, 20, 30, 46, 68, 103, 154, 231, 346, 519, 778, 1168, 1752, 2627, 3941, 5912, 8867, 13301, 19952,
        29927, 44891]::float8[]
    ) as bucket
  from outcome o join message m on m.id = o.message_id
  where not m.sandbox
),
hourly_count as (
  insert into hourly_stats as kept (account_id, tenant_id, hour, domain, shard,
    delivered, mailbox_full, mailbox_does_not_exist, no_mx_record, connection_timeout, policy_block, spam_blocked,
      temporary_failure, suppression_list, invalid_address, domain_not_verified, in_doubt, latency_0, latency_1,
      latency_2, latency_3, latency_4, latency_5, latency_6, latency_7, latency_8, latency_9, latency_10, latency_11,
      latency_12, latency_13, latency_14, latency_15, latency_16, latency_17, latency_18, latency_19, latency_20,
      latency_21, latency_22, latency_23, latency_24)
  select account_id, tenant.id, date_trunc('hour', now(), 'UTC'), domain, 0,
    count(*) filter (where status = 'delivered'),
    count(*) filter (where reason = 'mailbox_full'),
    count(*) filter (where reason = 'mailbox_does_not_exist'),
    count(*) filter (where reason = 'no_mx_record'),
    count(*) filter (where reason = 'connection_timeout'),
    count(*) filter (where reason = 'policy_block'),
    count(*) filter (where reason = 'spam_blocked'),
    count(*) filter (where reason = 'temporary_failure'),
    count(*) filter (where reason = 'suppression_list'),
    count(*) filter (where reason = 'invalid_address'),
    count(*) filter (where reason = 'domain_not_verified'),
    count(*) filter (where in_doubt),
    count(*) filter (where status <> 'rejected' and bucket = 0),
    count(*) filter (where status <> 'rejected' and bucket = 1),
    count(*) filter (where status <> 'rejected' and bucket = 2),
    count(*) filter (where status <> 'rejected' and bucket = 3),
    count(*) filter (where status <> 'rejected' and bucket = 4),
    count(*) filter (where status <> 'rejected' and bucket = 5),
    count(*) filter (where status <> 'rejected' and bucket = 6),
    count(*) filter (where status <> 'rejected' and bucket = 7),
    count(*) filter (where status <> 'rejected' and bucket = 8),
    count(*) filter (where status <> 'rejected' and bucket = 9),
    count(*) filter (where status <> 'rejected' and bucket = 10),
    count(*) filter (where status <> 'rejected' and bucket = 11),
    count(*) filter (where status <> 'rejected' and bucket = 12),
    count(*) filter (where status <> 'rejected' and bucket = 13),
    count(*) filter (where status <> 'rejected' and bucket = 14),
    count(*) filter (where status <> 'rejected' and bucket = 15),
    count(*) filter (where status <> 'rejected' and bucket = 16),
    count(*) filter (where status <> 'rejected' and bucket = 17),
    count(*) filter (where status <> 'rejected' and bucket = 18),
    count(*) filter (where status <> 'rejected' and bucket = 19),
    count(*) filter (where status <> 'rejected' and bucket = 20),
    count(*) filter (where status <> 'rejected' and bucket = 21),
    count(*) filter (where status <> 'rejected' and bucket = 22),
    count(*) filter (where status <> 'rejected' and bucket = 23),
    count(*) filter (where status <> 'rejected' and bucket = 24)
  from counted_email cross join lateral (select '' as id union select tenant_id where tenant_id is not null) as tenant
  group by account_id, tenant.id, domain order by account_id, tenant.id, domain
  on conflict (account_id, tenant_id, hour, domain, shard) do update set
    delivered = kept.delivered + excluded.delivered,
    mailbox_full = kept.mailbox_full + excluded.mailbox_full,
    mailbox_does_not_exist = kept.mailbox_does_not_exist + excluded.mailbox_does_not_exist,
    no_mx_record = kept.no_mx_record + excluded.no_mx_record,
    connection_timeout = kept.connection_timeout + excluded.connection_timeout,
    policy_block = kept.policy_block + excluded.policy_block,
    spam_blocked = kept.spam_blocked + excluded.spam_blocked,
    temporary_failure = kept.temporary_failure + excluded.temporary_failure,
    suppression_list = kept.suppression_list + excluded.suppression_list,
    invalid_address = kept.invalid_address + excluded.invalid_address,
    domain_not_verified = kept.domain_not_verified + excluded.domain_not_verified,
    in_doubt = kept.in_doubt + excluded.in_doubt,
    latency_0 = kept.latency_0 + excluded.latency_0,
    latency_1 = kept.latency_1 + excluded.latency_1,
    latency_2 = kept.latency_2 + excluded.latency_2,
    latency_3 = kept.latency_3 + excluded.latency_3,
    latency_4 = kept.latency_4 + excluded.latency_4,
    latency_5 = kept.latency_5 + excluded.latency_5,
    latency_6 = kept.latency_6 + excluded.latency_6,
    latency_7 = kept.latency_7 + excluded.latency_7,
    latency_8 = kept.latency_8 + excluded.latency_8,
    latency_9 = kept.latency_9 + excluded.latency_9,
    latency_10 = kept.latency_10 + excluded.latency_10,
    latency_11 = kept.latency_11 + excluded.latency_11,
    latency_12 = kept.latency_12 + excluded.latency_12,
    latency_13 = kept.latency_13 + excluded.latency_13,
    latency_14 = kept.latency_14 + excluded.latency_14,
    latency_15 = kept.latency_15 + excluded.latency_15,
    latency_16 = kept.latency_16 + excluded.latency_16,
    latency_17 = kept.latency_17 + excluded.latency_17,
    latency_18 = kept.latency_18 + excluded.latency_18,
    latency_19 = kept.latency_19 + excluded.latency_19,
    latency_20 = kept.latency_20 + excluded.latency_20,
    latency_21 = kept.latency_21 + excluded.latency_21,
    latency_22 = kept.latency_22 + excluded.latency_22,
    latency_23 = kept.latency_23 + excluded.latency_23,
    latency_24 = kept.latency_24 + excluded.latency_24
),
open_count as (
  insert into open_stats (account_id, minute, tenant_id, domain, recipient_domain, provider, tag, status, reason,
    in_doubt, bucket)
  select account_id, date_trunc('minute', now()), coalesce(tenant_id, ''), domain, lower(split_part(email, '@',
    -1) collate "C"),
    provider, coalesce(tag, ''), status, reason, in_doubt, bucket
  from counted_email
),
refusal as (
  insert into refusals (event_id, account_id, tenant_id, email, kind, provider, proof_of_life)
  select distinct on (o.message_id, o.address)
    o.event_id, m.account_id, coalesce(m.tenant_id, ''), o.address, o.refusal, o.provider, o.proof_of_life
  from outcome o join message m on m.id = o.message_id
  where o.refusal is not null
  order by o.message_id, o.address, o.event_id
),
suppression as (
  insert into suppressions as kept (id, account_id, tenant_id, email, reason, message_id, detail, evidence,
    expires_at)
  select distinct on (m.account_id, o.address, coalesce(m.tenant_id, ''))
    o.event_id, m.account_id, coalesce(m.tenant_id, ''), o.address, e.reason, o.message_id,
    coalesce(o.smtp ->> 'reply', o.reason), e.evidence, now() + e.days * interval '1 day'
  from outcome o join message m on m.id = o.message_id
  cross join lateral json_to_record(o.entry) as e(reason text, days int, evidence json)
  where o.entry is not null
  order by m.account_id, o.address, coalesce(m.tenant_id, ''), e.days desc nulls first
  on conflict (account_id, email, tenant_id) do update set id = excluded.id, reason = excluded.reason,
    message_id = excluded.message_id, detail = excluded.detail, evidence = excluded.evidence, created_at = now(),
    expires_at = excluded.expires_at, import_id = null, replaced = null
  where kept.expires_at < coalesce(excluded.expires_at, 'infinity')
    or (kept.import_id is not null and excluded.expires_at is null)
)
select m.id, (extract(epoch from greatest(m.created_at, now())::timestamptz(3)) * 1000)::float8 as "eventsAtMs",
  (select json_agg(json_build_array(d.id, d.event_id, d.endpoint_id)) from dispatch d where d.message_id = m.id)
    as dispatches
from message m
union all
select null, null, null from released;

-- stored-sends
-- Reads sends from history, for repeats with their keys.
select id, domain, sandbox, checks from messages where id = any($1) and id between $2 and $3;

-- stored-outcomes
-- Reads the outcomes of sends, for repeats with their keys.
select message_id as "messageId", email, kind, status, reason, retryable, in_doubt as "inDoubt", smtp, suppression,
  detail
from recipients where message_id = any($1) and message_id between $2 and $3 order by message_id, position;

-- find-batch
-- Finds the batch that has this idempotency key.
select encode(request_hash, 'hex') as "requestHash", answer, lease_until > clock_timestamp() as "isRunning"
from batch_keys where account_id = $1 and scope = $2 and key = $3 and expires_at > now();

-- claim-batch
-- Claims the idempotency key of a batch, with a lease.
with batch as (
  insert into batch_keys as kept (account_id, scope, key, request_hash, claim, lease_until, expires_at)
  values ($1, $2, $3, decode($4, 'hex'), $5, clock_timestamp() + $6 * interval '1 millisecond',
    now() + interval '24 hours')
  on conflict (account_id, scope, key) do update set
    claim = excluded.claim, lease_until = excluded.lease_until, answer = null,
    request_hash = case when kept.expires_at <= now() then excluded.request_hash else kept.request_hash end,
    expires_at = case when kept.expires_at <= now() then excluded.expires_at else kept.expires_at end
  where kept.expires_at <= now() or (kept.answer is null and kept.lease_until <= clock_timestamp())
  returning request_hash, expires_at = (now() + interval '24 hours')::timestamptz(3) as is_new
),
deleted_key as (
  delete from idempotency_keys k using batch
  where is_new and k.account_id = $1 and (k.scope, k.key) in (
    select scope, key from json_to_recordset($7::json) as r(scope text, key text))
)
select encode(request_hash, 'hex') as "requestHash" from batch;

-- store-batch-response
-- Stores the response of a batch under its key.
update batch_keys set answer = $5
where account_id = $1 and scope = $2 and key = $3 and claim = $4;

-- release-batch
-- Ends the lease of a batch that may run again.
update batch_keys set lease_until = clock_timestamp() - interval '1 second'
where account_id = $1 and scope = $2 and key = $3 and claim = $4;

-- begin-first-attempts
-- Reads where the first attempts of new dispatches go.
select d.id, d.traceparent,
w.account_id as "accountId", w.id as "endpointId", w.url, w.url_version as "urlVersion", encode(w.secret,
  'base64') as secret,
case when w.previous_until > clock_timestamp() then encode(w.previous_secret, 'base64') end as "previousSecret"
from open_dispatches d left join webhook_endpoints w on w.id = d.endpoint_id
where d.id = any($1::uuid[]) and d.lease_until > clock_timestamp() + interval '14 seconds';

-- begin-attempts
-- Begins later attempts of dispatches, made by workflows.
with input as materialized (
  select * from json_to_recordset($1::json) as r(id uuid, number smallint, early boolean)
),
waiting as materialized (
  select d.*, d.attempt = i.number as is_next, d.deadline_at < clock_timestamp() as is_late,
    i.early or d.due_at <= clock_timestamp() as is_due
  from open_dispatches d join input i on i.id = d.id
  order by d.id for update of d
),
lost as (
  insert into attempts (dispatch_id, account_id, number, started_at, outcome)
  select id, account_id, attempt, started_at + interval '1 millisecond', 'unknown'
  from waiting where is_next and is_due and started_at is not null
  on conflict do nothing
),
begun as (
  update open_dispatches d set started_at = clock_timestamp()
  from waiting b where d.id = b.id and b.is_next and b.is_due and not b.is_late
    and exists (select from webhook_endpoints e where e.id = b.endpoint_id)
  returning d.id, d.started_at
)
select d.id, d.attempt, d.event_id as "eventId", d.message_id as "messageId", d.is_late as "isLate",
  (extract(epoch from begun.started_at) * 1000)::float8 as "startedAtMs", d.traceparent,
w.account_id as "accountId", w.id as "endpointId", w.url, w.url_version as "urlVersion", encode(w.secret,
  'base64') as secret,
case when w.previous_until > clock_timestamp() then encode(w.previous_secret, 'base64') end as "previousSecret"
from waiting d left join begun on begun.id = d.id
left join webhook_endpoints w on w.id = d.endpoint_id;

-- give-attempt-back
-- Undoes the beginning of an attempt that was not made.
update open_dispatches set started_at = null where id = $1 and attempt = $2;

-- read-events
-- Reads events from history, to post them.
select e.id, e.message_id as "messageId", e.account_id as "accountId", e.event, e.status, e.reason, e.recipient,
  e.sandbox, e.tag, e.metadata, e.tenant_id as "tenantId", e.feedback,
  coalesce(e.detail, r.detail) as detail, e.evidence, e.is_member as "isMember", e.payload, r.smtp,
    r.in_doubt as "inDoubt", r.retryable, (extract(epoch from e.created_at) * 1000)::float8 as "createdAtMs"
from events e
left join recipients r on r.message_id = any($4::uuid[]) and r.message_id between $5 and $6
  and r.message_id = e.message_id and r.event_id = e.id
where e.id = any($1::uuid[]) and e.id between $2 and $3;

-- end-attempts
-- Stores the outcomes of attempts and ends acknowledged dispatches.
with input as materialized (
  select * from json_to_recordset($1::json) as r(
    id uuid, account_id uuid, number smallint, started_ms float8, finished_ms float8, outcome text,
    url_version int, status_code smallint, cause text, location text, phases json, excerpt text, excerpt_cut boolean,
    next_delay_ms float8)
),
acknowledged as (
  delete from open_dispatches d using input i where d.id = i.id and i.outcome = 'acked'
  returning d.*, i.finished_ms
),
failed as (
  update open_dispatches d set attempt = i.number + 1, started_at = null, lease_until = null,
    due_at = clock_timestamp() + coalesce(i.next_delay_ms, 0) * interval '1 millisecond'
  from input i where d.id = i.id and i.outcome <> 'acked' and d.attempt = i.number
  returning d.id, d.account_id, d.endpoint_id,
    case when i.next_delay_ms is not null and d.due_at <= d.deadline_at then d.due_at end as next_at
),
kept_attempts as (
  insert into attempts (
    dispatch_id, account_id, number, started_at, finished_at, outcome, url_version, status_code, cause, location,
      phases, excerpt,
    excerpt_cut, next_attempt_at)
  select i.id, i.account_id, i.number, to_timestamp(i.started_ms / 1000), to_timestamp(i.finished_ms / 1000), i.outcome,
    i.url_version, i.status_code, i.cause, i.location, i.phases, i.excerpt, i.excerpt_cut, f.next_at
  from input i left join failed f on f.id = i.id
  where i.outcome <> 'acked' or exists (select from acknowledged a where a.id = i.id)
  on conflict do nothing
),
kept_dispatches as (
  insert into dispatches (id, event_id, message_id, account_id, endpoint_id, kind, state, workflow_id, created_at,
    ended_at)
  select id, event_id, message_id, account_id, endpoint_id, kind, 'acknowledged', workflow_id, created_at,
    to_timestamp(finished_ms / 1000) from acknowledged
),
health as (
  insert into webhook_hours as h (
    account_id, endpoint_id, hour, acknowledged, failed, last_acknowledged_at, last_failed_at, failed_since)
  select account_id, endpoint_id, date_trunc('hour', clock_timestamp(), 'UTC'), sum(acked), sum(1 - acked),
    case when sum(acked) > 0 then clock_timestamp() end, case when sum(acked) < count(*) then clock_timestamp() end,
    case when sum(acked) > 0 then 0 else count(*) end
  from (
    select account_id, endpoint_id, 1 as acked from acknowledged
    union all select account_id, endpoint_id, 0 from failed
  ) e
  group by account_id, endpoint_id order by account_id, endpoint_id
  on conflict (account_id, endpoint_id, hour) do update set
    acknowledged = h.acknowledged + excluded.acknowledged,
    failed = h.failed + excluded.failed,
    last_acknowledged_at = coalesce(excluded.last_acknowledged_at, h.last_acknowledged_at),
    last_failed_at = coalesce(excluded.last_failed_at, h.last_failed_at),
    failed_since = case when excluded.acknowledged > 0 then 0 else h.failed_since + excluded.failed_since end
)
select id from acknowledged;

-- finish-dispatches
-- Ends dispatches that are exhausted or cancelled.
with over as (
  delete from open_dispatches where id = any($1::uuid[])
  returning *
),
lost as (
  insert into attempts (dispatch_id, account_id, number, started_at, outcome)
  select id, account_id, attempt, started_at + interval '1 millisecond', 'unknown'
  from over where started_at is not null
  on conflict do nothing
)
  insert into dispatches (id, event_id, message_id, account_id, endpoint_id, kind, state, workflow_id, created_at,
    ended_at)
  select id, event_id, message_id, account_id, endpoint_id, kind,
    case when not exists (select from webhook_endpoints w where w.id = endpoint_id) then 'cancelled' else $2 end,
    workflow_id, created_at, greatest(created_at, clock_timestamp()) from over;

-- give-up-leases
-- Leaves first attempts that were not made to Temporal.
update open_dispatches set lease_until = null where id = any($1::uuid[]) and attempt = 1 and workflow_id is null;

-- give-up-lost
-- Leaves dispatches to Temporal whose lease is over.
with lost as (
  update open_dispatches set lease_until = null
  where id >= (lpad(to_hex((extract(epoch from now()) * 1000)::int8 - $1::int8), 12, '0') || repeat('0', 20))::uuid
    and lease_until < clock_timestamp() and workflow_id is null
  returning id, account_id, created_at
)
  insert into attempts (dispatch_id, account_id, number, started_at, outcome)
  select id, account_id, 1, created_at + interval '1 millisecond', 'unknown'
  from lost
  on conflict do nothing;

-- cancel-orphans
-- Cancels dispatches whose endpoint was deleted.
with recursive
waiting as (
  (select endpoint_id, attempt,
    due_at from open_dispatches where workflow_id is null and lease_until is null order by endpoint_id, attempt,
    due_at limit 1)
  union all
  select next.* from waiting w cross join lateral (
    select endpoint_id, attempt, due_at from open_dispatches
    where workflow_id is null and lease_until is null and (endpoint_id, attempt) > (w.endpoint_id, w.attempt)
    order by endpoint_id, attempt, due_at limit 1
  ) next
),
deleted as materialized (
  select distinct endpoint_id from waiting w
  where not exists (select from webhook_endpoints e where e.id = w.endpoint_id)
),
orphan as materialized (
  select d.id from deleted join open_dispatches d using (endpoint_id)
  where workflow_id is null and lease_until is null limit 1000 for update of d skip locked
),
cancelled as (
  delete from open_dispatches d using orphan o where d.id = o.id returning d.*
)
  insert into dispatches (id, event_id, message_id, account_id, endpoint_id, kind, state, workflow_id, created_at,
    ended_at)
  select id, event_id, message_id, account_id, endpoint_id, kind, 'cancelled', workflow_id, created_at,
    greatest(created_at, clock_timestamp()) from cancelled;

-- unassigned-dispatches
-- Reads dispatches that have no workflow yet.
with recursive unstarted as (
  select coalesce(sum(least(workflows, 50)), 0) as workflows from (
    select count(distinct workflow_id) as workflows from open_dispatches
    where workflow_id is not null and handed_over_at is null group by account_id
  ) as of_account
),
waiting as (
  (select endpoint_id, attempt,
    due_at from open_dispatches where workflow_id is null and lease_until is null order by endpoint_id, attempt,
    due_at limit 1)
  union all
  select next.* from waiting w cross join lateral (
    select endpoint_id, attempt, due_at from open_dispatches
    where workflow_id is null and lease_until is null and (endpoint_id, attempt) > (w.endpoint_id, w.attempt)
    order by endpoint_id, attempt, due_at limit 1
  ) next
),
longest_due as materialized (
  select w.*, e.account_id, row_number() over (partition by e.account_id order by w.due_at) as turn
  from waiting w join webhook_endpoints e on e.id = w.endpoint_id
  order by turn, w.due_at limit (select greatest(0, 100 - workflows) from unstarted)
),
chosen as materialized (
  select d.id, l.due_at as since,
    row_number() over (partition by l.account_id order by l.due_at, l.endpoint_id, l.attempt, d.due_at) as turn
  from longest_due l cross join lateral (
    select id, due_at from open_dispatches
    where endpoint_id = l.endpoint_id and attempt = l.attempt and workflow_id is null and lease_until is null
    order by due_at limit (select least($1, 10 * $1::bigint / greatest(1, count(*))) from longest_due)
  ) d
  order by turn, since limit $1
)
select d.id, d.event_id as "eventId", d.account_id as "accountId", d.endpoint_id as "endpointId", d.attempt,
(extract(epoch from d.due_at) * 1000)::float8 as "dueMs",
(extract(epoch from d.deadline_at) * 1000)::float8 as "deadlineMs",
  (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs"
from chosen c join open_dispatches d on d.id = c.id
where d.workflow_id is null and d.lease_until is null
order by c.since, d.endpoint_id, d.attempt, d.due_at
for update of d skip locked;

-- assign-dispatches
-- Stores which workflows take dispatches on.
with input as (select * from json_to_recordset($1::json) as r(id uuid, workflow_id text))
update open_dispatches d set workflow_id = i.workflow_id from input i where d.id = i.id;

-- assigned-dispatches
-- Reads dispatches whose workflow may not be started.
with unstarted as materialized (
  select workflow_id, row_number() over (partition by account_id order by min(due_at)) as turn from open_dispatches
  where workflow_id is not null and handed_over_at is null
    and (kind = 'original' or created_at < clock_timestamp() - interval '10 seconds')
  group by account_id, workflow_id order by turn limit 100
)
select d.workflow_id as "workflowId", d.kind, d.id, d.event_id as "eventId", d.message_id as "messageId",
  d.account_id as "accountId", d.endpoint_id as "endpointId", d.attempt, d.traceparent,
(extract(epoch from d.due_at) * 1000)::float8 as "dueMs",
(extract(epoch from d.deadline_at) * 1000)::float8 as "deadlineMs", w.url, a.outcome, a.status_code as "statusCode",
  a.cause
from unstarted u
join open_dispatches d on d.workflow_id = u.workflow_id
left join webhook_endpoints w on w.id = d.endpoint_id
left join lateral (
  select outcome, status_code, cause from attempts a where a.dispatch_id = d.id and a.number = d.attempt - 1
  order by started_at desc limit 1
) a on true
order by u.turn, d.workflow_id, d.id;

-- handed-over
-- Stores that workflows are started.
update open_dispatches set handed_over_at = clock_timestamp()
where workflow_id = any($1::text[]) and handed_over_at is null;

-- still-open
-- Finds waiting dispatches of terminated workflows.
select workflow_id as id from open_dispatches
where workflow_id = any($1::text[]) and handed_over_at is not null
group by workflow_id
having bool_and(started_at is null or started_at < clock_timestamp() - interval '15 seconds');

-- overdue-workflows
-- Finds workflows whose dispatches are overdue.
with recursive account as (
  (select account_id from open_dispatches where workflow_id is not null order by account_id limit 1)
  union all
  select next.account_id from account a cross join lateral (
    select account_id from open_dispatches
    where workflow_id is not null and account_id > a.account_id order by account_id limit 1
  ) next
),
overdue as materialized (
  select o.* from account a cross join lateral (
    select workflow_id, row_number() over (order by min(since)) as turn from (
      select workflow_id, greatest(due_at, looked_at) as since from open_dispatches
      where account_id = a.account_id and workflow_id is not null and handed_over_at is not null
      and greatest(due_at, looked_at) < now() - $1 * interval '1 millisecond'
      order by greatest(due_at, looked_at) limit 500
    ) oldest
    group by workflow_id
  ) o
  order by turn limit 100
)
update open_dispatches d set looked_at = clock_timestamp() from overdue o where d.workflow_id = o.workflow_id
returning d.workflow_id as id;

-- revive-dispatches
-- Assigns the dispatches of closed workflows anew.
update open_dispatches set workflow_id =
regexp_replace(workflow_id, '(-[0-9a-z]{10})-r\d+$', '\1') || '-r' ||
(coalesce(substring(workflow_id from '-[0-9a-z]{10}-r(\d+)$')::int, 0) + 1), handed_over_at = null, looked_at = null
where workflow_id = any($1::text[]);

-- open-replay
-- Creates the dispatches of a replay.
with opened as (
  insert into open_dispatches (id, event_id, message_id, account_id, endpoint_id, kind, created_at, due_at, deadline_at,
    workflow_id, traceparent)
  select r.id, r.event_id, r.message_id, w.account_id, w.id, 'replay', now(), now(),
    now() + interval '24 hours', r.workflow_id, r.traceparent
  from json_to_recordset($1::json) as r(id uuid, event_id uuid, message_id uuid, endpoint_id uuid,
    workflow_id text, traceparent text)
  join webhook_endpoints w on w.id = r.endpoint_id and w.account_id = $2
  returning endpoint_id
)
select w.id as "endpointId", w.url, (extract(epoch from now()::timestamptz(3)) * 1000)::float8 as "atMs"
from webhook_endpoints w where w.id in (select endpoint_id from opened);

-- dispatch-range
-- Makes one step of a replay of many events: creates dispatches and moves the replay on.
with replay as (
  update range_replays r set done_until = $4, dispatched = dispatched + $7::int, state = $6,
    ended_at = case when $6 <> 'running' then clock_timestamp() end
  where r.id = $1 and r.state = 'running' and r.done_until = $3
    and not exists (
      select from unnest($8::uuid[]) as wanted(id)
      where not exists (select from webhook_endpoints w where w.id = wanted.id and w.account_id = $2))
  returning r.id
),
opened as (
  insert into open_dispatches (id, event_id, message_id, account_id, endpoint_id, kind, created_at, due_at, deadline_at,
    workflow_id, traceparent)
  select r.id, r.event_id, r.message_id, w.account_id, w.id, 'replay', now(), now(),
    now() + interval '24 hours', r.workflow_id, r.traceparent
  from json_to_recordset($5::json) as r(id uuid, event_id uuid, message_id uuid, endpoint_id uuid,
    workflow_id text, traceparent text)
  join webhook_endpoints w on w.id = r.endpoint_id and w.account_id = $2 cross join replay
  returning endpoint_id
)
select (select count(*)::int from replay) as "isStored", coalesce((
  select json_agg(e) from (
select w.id as "endpointId", w.url, (extract(epoch from now()::timestamptz(3)) * 1000)::float8 as "atMs"
from webhook_endpoints w where w.id in (select endpoint_id from opened)) as e), '[]') as endpoints;

-- withdraw-replay
-- Deletes the dispatches of a replay that was not started.
with rows as materialized (
  select id, attempt > 1 or started_at is not null or handed_over_at is not null as is_touched
  from open_dispatches where workflow_id = any($1::text[]) order by id for update
)
delete from open_dispatches d using rows r
where d.id = r.id and (select count(*) = $2 and not bool_or(is_touched) from rows)
returning d.id;

-- last-retries
-- Finds the last retries of the recipients of a message.
select distinct message_id as id from retries r
where first_id = $1 and not exists (
  select from retries later where later.retried_id = r.message_id and later.retried_position = r.position);

-- find-reported
-- Reads the messages that a late bounce or a complaint can be about.
select o.id is not null as "isRunning", m.id, m.account_id as "accountId", m.tenant_id as "tenantId", m.sandbox,
  m.request ->> 'from' as "from", m.tag, m.request -> 'metadata' as metadata, (
    select coalesce(json_agg(json_build_object('messageId', r.message_id, 'email', email, 'status', r.status,
      'kind', kind, 'position', position, 'mayHaveIt', r.status = 'delivered' or in_doubt, 'mx',
        smtp ->> 'mx') order by position), '[]')
    from recipients r
    where r.message_id = m.id and r.message_id between $2 and $3
  ) as recipients
from unnest($1::uuid[]) as asked(id)
left join open_messages o on o.id = asked.id
left join messages m on m.id = asked.id and m.id between $2 and $3
order by asked.id;

-- lock-reported
-- Makes the reports to one return path wait for each other.
select from messages where id = $1 for update;

-- keep-feedback
-- Stores a late bounce or a complaint, and what follows from it.
with input as materialized (
  select * from json_to_recordset($1::json) as r(
    id uuid, message_id uuid, account_id uuid, tenant_id text, domain text, tag text, metadata json, recipient text,
      recipient_kind text, status text, kind text, reason text, detail text, evidence json, provider text, refusal text,
      address text, entry json, in_statistics boolean, is_member boolean, most_counted int, reported_at timestamptz)
),
late as materialized (
  select id, message_id, account_id, tenant_id, domain, tag, metadata, recipient, recipient_kind, status, kind, reason,
    detail, evidence, is_member, provider, refusal, address, entry, in_statistics, reported_at, id as event_id,
    in_statistics and not is_member and not recipient like '%@simulator.test'
      and row_number() over (partition by in_statistics, is_member, recipient like '%@simulator.test' order by id) = 1
      and most_counted > (select count(*) from feedback f where f.message_id = i.message_id and f.counted) as counted
  from input i
  where not exists (
    select from feedback f
    where f.message_id = i.message_id and lower(f.recipient collate "C") = lower(i.recipient collate "C") and f.kind = i.kind
      and (i.is_member or not f.is_member))
),
kept_feedback as (
  insert into feedback (id, message_id, account_id, recipient, kind, reason, detail, evidence, is_member, counted,
    reported_at)
  select id, message_id, account_id, recipient, kind, reason, detail, evidence, is_member, counted,
    reported_at from late
),
event as (
  insert into events (id, message_id, account_id, event, status, reason, recipient, kind, tenant_id, sandbox, tag,
    metadata, feedback, detail, evidence, is_member, payload, created_at)
  select id, message_id, account_id, 'email.feedback', status, reason, recipient, recipient_kind, tenant_id, false, tag,
    metadata, kind, detail, evidence, is_member, 2, reported_at
  from late
),
dispatch as (
  insert into open_dispatches (id, event_id, message_id, account_id, endpoint_id, kind, created_at, due_at,
    deadline_at, lease_until, traceparent)
  select
case when w.first then e.event_id else (
  select (left(e.event_id::text, 15) || left(hash, 3) || '-8' || substr(hash, 4, 3) || '-' || substr(hash, 7, 12))::uuid
  from md5(e.event_id::text || w.id::text) as hash
) end, e.event_id, e.message_id, e.account_id, w.id, 'original', now(), now(),
    now() + interval '24 hours', now() + null * interval '1 millisecond', null
  from late e
  join webhook_endpoints w on w.account_id = e.account_id and not w.disabled
    and 'email.feedback' = any(w.events) and e.status = any(w.statuses)
    and (w.tags is null or e.tag = any(w.tags))
    and (w.tenant_ids is null or e.tenant_id = any(w.tenant_ids))
    and (w.domains is null or e.domain = any(w.domains))
  returning id, event_id, message_id, endpoint_id
),
message as (select distinct message_id as id, account_id, tenant_id from late),
outcome as (
  select id as event_id, message_id, reason, json_build_object('reply', detail) as smtp, refusal,
    -- The bad hour of a provider is one of replies, not of reports.
    '' as provider, false as proof_of_life, address, entry
  from late
),
counted_late as (
  select case when recipient like '%@simulator.test' then overlay(account_id::text placing '8' from 15)::uuid else account_id end as account_id, tenant_id, domain, recipient, provider, tag, kind, reason, counted
  from late where in_statistics
),
hourly_count as (
  insert into hourly_stats as kept (account_id, tenant_id, hour, domain, shard,
    complaints, late_bounces, uncounted_complaints, uncounted_late_bounces)
  select account_id, tenant.id, date_trunc('hour', now(), 'UTC'), domain, -1,
    count(*) filter (where kind = 'complaint'),
    count(*) filter (where reason = 'mailbox_does_not_exist'),
    count(*) filter (where kind = 'complaint' and not counted),
    count(*) filter (where reason = 'mailbox_does_not_exist' and not counted)
  from counted_late cross join lateral (select '' as id union select tenant_id where tenant_id is not null) as tenant
  group by account_id, tenant.id, domain order by account_id, tenant.id, domain
  on conflict (account_id, tenant_id, hour, domain, shard) do update set
    complaints = kept.complaints + excluded.complaints,
    late_bounces = kept.late_bounces + excluded.late_bounces,
    uncounted_complaints = kept.uncounted_complaints + excluded.uncounted_complaints,
    uncounted_late_bounces = kept.uncounted_late_bounces + excluded.uncounted_late_bounces
),
counted_report as (
  select account_id, tenant_id, domain, recipient as email, provider, tag, kind as status, null as reason,
    false as in_doubt, null::smallint as bucket
  from counted_late
),
open_count as (
  insert into open_stats (account_id, minute, tenant_id, domain, recipient_domain, provider, tag, status, reason,
    in_doubt, bucket)
  select account_id, date_trunc('minute', now()), coalesce(tenant_id, ''), domain, lower(split_part(email, '@',
    -1) collate "C"),
    provider, coalesce(tag, ''), status, reason, in_doubt, bucket
  from counted_report
),
refusal as (
  insert into refusals (event_id, account_id, tenant_id, email, kind, provider, proof_of_life)
  select distinct on (o.message_id, o.address)
    o.event_id, m.account_id, coalesce(m.tenant_id, ''), o.address, o.refusal, o.provider, o.proof_of_life
  from outcome o join message m on m.id = o.message_id
  where o.refusal is not null
  order by o.message_id, o.address, o.event_id
),
suppression as (
  insert into suppressions as kept (id, account_id, tenant_id, email, reason, message_id, detail, evidence,
    expires_at)
  select distinct on (m.account_id, o.address, coalesce(m.tenant_id, ''))
    o.event_id, m.account_id, coalesce(m.tenant_id, ''), o.address, e.reason, o.message_id,
    coalesce(o.smtp ->> 'reply', o.reason), e.evidence, now() + e.days * interval '1 day'
  from outcome o join message m on m.id = o.message_id
  cross join lateral json_to_record(o.entry) as e(reason text, days int, evidence json)
  where o.entry is not null
  order by m.account_id, o.address, coalesce(m.tenant_id, ''), e.days desc nulls first
  on conflict (account_id, email, tenant_id) do update set id = excluded.id, reason = excluded.reason,
    message_id = excluded.message_id, detail = excluded.detail, evidence = excluded.evidence, created_at = now(),
    expires_at = excluded.expires_at, import_id = null, replaced = null
  where kept.expires_at < coalesce(excluded.expires_at, 'infinity')
    or (kept.import_id is not null and excluded.expires_at is null)
)
select id from late;
