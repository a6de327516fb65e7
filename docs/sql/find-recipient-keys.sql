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
where not exists (select from retries r where r.retried_id = c.message_id and r.retried_position = c.position)
