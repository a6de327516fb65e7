-- Finds the sends that have these idempotency keys.
select q.n::int, k.message_id as "messageId", encode(k.request_hash, 'hex') as "requestHash",
  (extract(epoch from o.lease_until - clock_timestamp()) * 1000)::float8 as "leaseLeftMs"
from rows from (json_to_recordset($1::json) as (account_id uuid, scope text, key text))
  with ordinality as q(account_id, scope, key, n)
join idempotency_keys k on k.account_id = q.account_id and k.scope = q.scope and k.key = q.key and k.expires_at > now()
left join open_messages o on o.id = k.message_id
