import { LATENCY_BOUNDS_MS, LATENCY_COLUMNS } from '../db/latency-buckets.ts'
import { STATS_COUNTS } from '../db/schema.ts'

// How outcomes are counted, in the same commit as history: one row of the hour for the sending domain and one for the tenant. Dry
// runs and the simulator count nowhere. It expects the CTEs `message` (with its domain) and `outcome` of a statement that ends sends.

const isCounted = (column: string) => {
  const bucket = LATENCY_COLUMNS.indexOf(column)
  if (bucket >= 0) return `status <> 'rejected' and bucket = ${bucket}`
  return column === 'delivered' ? `status = 'delivered'` : `reason = '${column}'`
}
/** What comes back later is counted when it does. */
const LATER = ['complaints', 'late_bounces']
const COUNTED = STATS_COUNTS.filter((column) => !LATER.includes(column))

/** `shard` is SQL: commits with different ones do not wait for each other. */
export const intoStatistics = (shard: string) => `
  counted as (
    select m.account_id, m.tenant_id, m.domain, o.status, o.reason,
      width_bucket((extract(epoch from now() - m.created_at) * 1000)::float8, array[${LATENCY_BOUNDS_MS.join(', ')}]::float8[]) as bucket
    from outcome o join message m on m.id = o.message_id
    where not m.sandbox and o.email not like '%@simulator.test'
  ),
  kept_statistics as (
    insert into hourly_stats as kept (account_id, tenant_id, hour, domain, shard, ${COUNTED.join(', ')})
    select account_id, tenant.id, date_trunc('hour', now(), 'UTC'), domain, ${shard},
      ${COUNTED.map((column) => `count(*) filter (where ${isCounted(column)})`).join(',\n      ')}
    from counted cross join lateral (select '' as id union select tenant_id where tenant_id is not null) as tenant
    group by account_id, tenant.id, domain order by account_id, tenant.id, domain
    on conflict (account_id, tenant_id, hour, domain, shard) do update set
      ${COUNTED.map((column) => `${column} = kept.${column} + excluded.${column}`).join(', ')}
  )`

/** What comes back later is counted apart from what commits of sends count. Shard 0 belongs to hours that are over. */
const LATE_SHARD = -1

/**
 * The same of what comes back later, in the hour in which it does: complaints, and mailboxes that turned out not to exist. It expects
 * the CTE `late(account_id, tenant_id, domain, kind, reason)`.
 */
export const LATE_INTO_STATISTICS = `
  kept_statistics as (
    insert into hourly_stats as kept (account_id, tenant_id, hour, domain, shard, ${LATER.join(', ')})
    select account_id, tenant.id, date_trunc('hour', now(), 'UTC'), domain, ${LATE_SHARD},
      count(*) filter (where kind = 'complaint'), count(*) filter (where reason = 'mailbox_does_not_exist')
    from late cross join lateral (select '' as id union select tenant_id where tenant_id is not null) as tenant
    where kind = 'complaint' or reason = 'mailbox_does_not_exist'
    group by account_id, tenant.id, domain order by account_id, tenant.id, domain
    on conflict (account_id, tenant_id, hour, domain, shard) do update set
      ${LATER.map((column) => `${column} = kept.${column} + excluded.${column}`).join(', ')}
  )`
