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
select encode(request_hash, 'hex') as "requestHash" from batch
