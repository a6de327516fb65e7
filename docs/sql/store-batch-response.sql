-- Stores the response of a batch under its key.
update batch_keys set answer = $5
where account_id = $1 and scope = $2 and key = $3 and claim = $4
