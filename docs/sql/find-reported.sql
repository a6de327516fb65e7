-- Finds the message that a late bounce or a complaint is about.
select exists (select from open_messages where id = $1) as "isRunning", account_id as "accountId",
  tenant_id as "tenantId", sandbox,
  request ->> 'from' as "from", tag, request -> 'metadata' as metadata, (
    select coalesce(json_agg(json_build_object('email', email, 'status', status, 'kind', kind, 'position', position,
      'mayHaveIt', status = 'delivered' or in_doubt) order by position), '[]')
    from recipients
    where message_id = $1
  ) as recipients
from (values (1)) as one_row left join messages on id = $1
