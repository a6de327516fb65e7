-- Reads where the first attempts of new dispatches go.
select d.id, d.traceparent,
w.account_id as "accountId", w.id as "endpointId", w.url, w.url_version as "urlVersion", encode(w.secret,
  'base64') as secret,
case when w.previous_until > clock_timestamp() then encode(w.previous_secret, 'base64') end as "previousSecret"
from open_dispatches d left join webhook_endpoints w on w.id = d.endpoint_id
where d.id = any($1::uuid[]) and d.lease_until > clock_timestamp() + interval '14 seconds'
