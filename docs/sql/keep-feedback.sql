-- Stores a late bounce or a complaint, and what follows from it.
with input as materialized (
  select * from json_to_recordset($1::json) as r(
    id uuid, message_id uuid, account_id uuid, tenant_id text, domain text, tag text, metadata json, recipient text,
      recipient_kind text, status text, kind text, reason text, detail text, provider text, strike text,
      strike_email text, in_statistics boolean, most_counted int, reported_at timestamptz)
),
late as materialized (
  select id, message_id, account_id, tenant_id, domain, tag, metadata, recipient, recipient_kind, status, kind, reason,
    detail, provider, strike, strike_email, in_statistics, reported_at, id as event_id,
    in_statistics and not recipient like '%@simulator.test'
      and row_number() over (partition by in_statistics, recipient like '%@simulator.test' order by id) = 1
      and most_counted > (select count(*) from feedback f where f.message_id = i.message_id and f.counted) as counted
  from input i
  where not exists (
    select from feedback f
    where f.message_id = i.message_id and lower(f.recipient collate "C") = lower(i.recipient collate "C") and f.kind = i.kind)
),
kept_feedback as (
  insert into feedback (id, message_id, account_id, recipient, kind, reason, detail, counted, reported_at)
  select id, message_id, account_id, recipient, kind, reason, detail, counted, reported_at from late
),
event as (
  insert into events (id, message_id, account_id, event, status, reason, recipient, kind, tenant_id, sandbox, tag,
    metadata, feedback, detail, payload, created_at)
  select id, message_id, account_id, 'email.feedback', status, reason, recipient, recipient_kind, tenant_id, false, tag,
    metadata, kind, detail, 2, reported_at
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
  select id as event_id, message_id, reason, json_build_object('reply', detail) as smtp, strike, strike_email from late
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
select id from late
