-- Reads the messages that a late bounce or a complaint can be about.
select o.id is not null as "isRunning", m.id, m.account_id as "accountId", m.tenant_id as "tenantId", m.sandbox,
  m.request ->> 'from' as "from", m.tag, m.request -> 'metadata' as metadata, (
    select coalesce(json_agg(json_build_object('messageId', r.message_id, 'email', email, 'status', r.status,
      'kind', kind, 'position', position, 'mayHaveIt', r.status = 'delivered' or in_doubt, 'mx',
        smtp ->> 'mx') order by position), '[]')
    from recipients r
    where r.message_id = m.id and r.message_id between $2 and $3
  ) as recipients
from unnest($1::uuid[]) as asked(id)
left join open_messages o on o.id = asked.id
left join messages m on m.id = asked.id and m.id between $2 and $3
order by asked.id
