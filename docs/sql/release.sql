-- Deletes a claim without a marker, as if the request had never come.
with message as (
  select id from open_messages where id = $1 and claim = $2 for update
),
recipient as (
  select marked_at from open_recipients where message_id in (select id from message) for update
),
released as (
  delete from open_messages where id in (select id from message)
    and not exists (select from recipient where marked_at is not null)
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
select id from released
