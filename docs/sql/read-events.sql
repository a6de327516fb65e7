-- Reads events from history, to post them.
select id, message_id as "messageId", account_id as "accountId", status, reason, recipient, sandbox,
  (extract(epoch from created_at) * 1000)::float8 as "createdAtMs"
from events where id = any($1::uuid[]) and id between $2 and $3
