-- Reads events from history, to post them.
select e.id, e.message_id as "messageId", e.account_id as "accountId", e.event, e.status, e.reason, e.recipient,
  e.sandbox, e.tag, e.metadata, e.tenant_id as "tenantId", e.feedback, e.detail, e.payload, r.smtp,
  r.in_doubt as "inDoubt", r.retryable, (extract(epoch from e.created_at) * 1000)::float8 as "createdAtMs"
from events e
left join recipients r on r.message_id = any($4::uuid[]) and r.message_id between $5 and $6
  and r.message_id = e.message_id and r.event_id = e.id
where e.id = any($1::uuid[]) and e.id between $2 and $3
