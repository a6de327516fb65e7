-- Reads the message that a send retries.
select domain, tenant_id as "tenantId", sandbox,
  (select first_id from retries where message_id = $1 limit 1) as "firstId", (
    select json_agg(json_build_object('email', r.email, 'position', r.position, 'status', r.status, 'reason', r.reason,
      'retryable', r.retryable, 'inDoubt', r.in_doubt, 'senderPosition', own.sender_position,
      'retriedBy', later.message_id) order by r.position)
    from recipients r
    left join retries own on own.message_id = r.message_id and own.position = r.position
    left join retries later on later.retried_id = r.message_id and later.retried_position = r.position
    where r.message_id = $1
  ) as recipients
from messages where id = $1 and account_id = $2
