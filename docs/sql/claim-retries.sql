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
from input i left join admitted a on a.id = i.id left join winner w on w.id = i.id
