import { LATENCY_BOUNDS_MS, LATENCY_COLUMNS } from '../db/latency.ts'
import { STATS_COUNTS } from '../db/schema.ts'

// How outcomes are counted, in the same commit as history: one row of the hour for the sending domain and one for the tenant. Dry
// runs and the simulator count nowhere. It expects the CTEs `message` (with its domain) and `outcome` of a statement that ends sends.

const isCounted = (column: string) => {
  const bucket = LATENCY_COLUMNS.indexOf(column)
  if (bucket >= 0) return `status <> 'rejected' and bucket = ${bucket}`
  return column === 'delivered' ? `status = 'delivered'` : `reason = '${column}'`
}
const COUNTED = STATS_COUNTS.filter((column) => column !== 'complaints')

export const INTO_STATISTICS = `
  counted as (
    select m.account_id, m.tenant_id, m.domain, o.status, o.reason,
      width_bucket((extract(epoch from now() - m.created_at) * 1000)::float8, array[${LATENCY_BOUNDS_MS.join(', ')}]::float8[]) as bucket
    from outcome o join message m on m.id = o.message_id
    where not m.sandbox and o.email not like '%@simulator.test'
  ),
  kept_statistics as (
    insert into hourly_stats as kept (account_id, tenant_id, hour, domain, ${COUNTED.join(', ')})
    select account_id, tenant.id, date_trunc('hour', now(), 'UTC'), domain,
      ${COUNTED.map((column) => `count(*) filter (where ${isCounted(column)})`).join(',\n      ')}
    from counted cross join lateral (select '' as id union select tenant_id where tenant_id is not null) as tenant
    group by account_id, tenant.id, domain order by account_id, tenant.id, domain
    on conflict (account_id, tenant_id, hour, domain) do update set
      ${COUNTED.map((column) => `${column} = kept.${column} + excluded.${column}`).join(', ')}
  )`
