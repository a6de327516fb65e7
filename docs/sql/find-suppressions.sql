-- Finds the widest suppression entry of each address.
select q.n::int, a.email, e.account_id, e.tenant_id, e.reason, e.since_ms
from rows from (json_to_recordset($1::json) as (account_id uuid, tenant_id text, addresses json))
  with ordinality as q(account_id, tenant_id, addresses, n)
cross join lateral json_array_elements_text(q.addresses) as a(email)
cross join lateral (
  select s.account_id, s.tenant_id, s.reason, (extract(epoch from s.created_at) * 1000)::float8 as since_ms
  from suppressions s
  where s.account_id in ('00000000-0000-0000-0000-000000000000',
    q.account_id) and s.email = a.email and s.tenant_id in ('', q.tenant_id)
    and (s.expires_at is null or s.expires_at > now())
  order by s.account_id = '00000000-0000-0000-0000-000000000000' desc, s.tenant_id = '' desc
  limit 1
) as e
union all
select 0, null, null, null, null, null from erasure_keys
