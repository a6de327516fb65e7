-- Settles or releases the sends whose lease is over.
with due as materialized (
  select id from open_messages where lease_until < clock_timestamp() and true order by id limit 100
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
    '' as provider, null as strike, null as strike_email,
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
    message_id, account_id, position, event_id, email, kind, status, reason, retryable, in_doubt, smtp, suppression)
  select m.id, m.account_id, o.position, o.event_id, o.email, o.kind, o.status, o.reason, o.retryable, o.in_doubt,
    o.smtp, o.suppression
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
new_strike as (
  select *, row_number() over (partition by account_id, tenant_id, email, strike order by event_id) as nth
  from (
    select distinct on (o.message_id, o.strike_email, o.strike)
      o.event_id, o.message_id, m.account_id, coalesce(m.tenant_id, '') as tenant_id, o.strike_email as email, o.strike,
      coalesce(o.smtp ->> 'reply', o.reason) as detail
    from outcome o join message m on m.id = o.message_id where o.strike is not null
    order by o.message_id, o.strike_email, o.strike, o.event_id
  ) as once
),
repeated_strike as (
  insert into suppression_strikes (event_id, account_id, tenant_id, email, kind)
  select event_id, account_id, tenant_id, email, strike from new_strike
  where strike in ('mailbox', 'full')
),
suppression as (
  insert into suppressions as kept (id, account_id, tenant_id, email, reason, message_id, detail, expires_at)
  select distinct on (s.account_id, s.email, s.tenant_id)
    s.event_id, s.account_id, s.tenant_id, s.email, rule.reason, s.message_id, s.detail, now() + rule.lasts
  from new_strike s
  join (values
    ('hard', 1, null, 'bounce'),
    ('mailbox', 2, null, 'bounce'),
    ('full', 3, interval '7 days', 'bounce'),
    ('complaint', 1, null, 'complaint')
  ) as rule(strike, at, lasts, reason) on rule.strike = s.strike
  where rule.at <= s.nth + (
    select count(*) from suppression_strikes k
    where k.account_id = s.account_id and k.email = s.email and k.tenant_id = s.tenant_id and k.kind = s.strike
      and k.created_at > now() - interval '7 days')
  order by s.account_id, s.email, s.tenant_id, rule.lasts nulls first
  on conflict (account_id, email, tenant_id) do update set id = excluded.id, reason = excluded.reason,
    message_id = excluded.message_id, detail = excluded.detail, created_at = now(), expires_at = excluded.expires_at,
    import_id = null, replaced = null
  where kept.expires_at is not null or (kept.import_id is not null and excluded.expires_at is null)
)
select m.id, (extract(epoch from greatest(m.created_at, now())::timestamptz(3)) * 1000)::float8 as "eventsAtMs",
  (select json_agg(json_build_array(d.id, d.event_id, d.endpoint_id)) from dispatch d where d.message_id = m.id)
    as dispatches
from message m
union all
select null, null, null from released
