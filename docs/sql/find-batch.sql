-- Finds the batch that has this idempotency key.
select encode(request_hash, 'hex') as "requestHash", answer, lease_until > clock_timestamp() as "isRunning"
from batch_keys where account_id = $1 and scope = $2 and key = $3 and expires_at > now()
