-- Ends the lease of a batch that may run again.
update batch_keys set lease_until = clock_timestamp() - interval '1 second'
where account_id = $1 and scope = $2 and key = $3 and claim = $4
