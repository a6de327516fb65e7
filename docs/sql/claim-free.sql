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
select id, 'claimed' as result from input
