import type { Database } from '../db/connect.ts'
import { STATS_COUNTS } from '../db/schema.ts'
import { OTHER_TENANTS, REJECTED, SENT } from './counts.ts'

// Once an hour is over its shards are added up in shard 0, so that a year of hours is as many rows. The names of tenants are free text:
// only the busiest of an account keep a row of their own.

/** Per account and hour. */
const TENANTS_KEPT = 1_000
/** Rows that one statement adds up, so that it ends within the time statements have. */
const ROWS = 20_000
/** Of the advisory lock: one process merges at a time, or each would keep other tenants. */
const LOCK = 0x7374_6174 // 'stat'

// No commit counts in these hours any more: the longest statement has ended long since.
const NEXT = `
  select account_id as "accountId", hour from hourly_stats
  where shard <> 0 and hour < date_trunc('hour', now() - interval '5 minutes', 'UTC') order by hour limit 1`

const WHICH = 'account_id = $1 and hour = $2 and shard <> 0'

const BUSIEST = `
  select tenant_id from hourly_stats where ${WHICH} and tenant_id <> ''
  group by tenant_id order by sum(${SENT} + ${REJECTED}) desc, tenant_id limit $3`

const MERGE = `
  with merged as (
    delete from hourly_stats where ctid = any(array(select ctid from hourly_stats where ${WHICH} limit ${ROWS})) returning *
  ),
  named as (
    select account_id, hour, domain, ${STATS_COUNTS.join(', ')},
      case
        when $3::json is null or tenant_id = '' or tenant_id in (select json_array_elements_text($3::json)) then tenant_id
        else '${OTHER_TENANTS}'
      end as tenant_id
    from merged
  ),
  kept as (
    insert into hourly_stats as kept (account_id, tenant_id, hour, domain, shard, ${STATS_COUNTS.join(', ')})
    select account_id, tenant_id, hour, domain, 0, ${STATS_COUNTS.map((column) => `sum(${column})`).join(', ')} from named
    group by account_id, tenant_id, hour, domain order by account_id, tenant_id, hour, domain
    on conflict (account_id, tenant_id, hour, domain, shard) do update set
      ${STATS_COUNTS.map((column) => `${column} = kept.${column} + excluded.${column}`).join(', ')}
  )
  select count(*)::int as rows from merged`

interface Hour {
  accountId: string
  hour: Date
}

/** Merges every hour that is over, one account after another. Another process at it makes this one leave it alone. */
export async function mergeStatistics(db: Database, tenantsKept = TENANTS_KEPT): Promise<void> {
  for (;;) {
    const [next] = await db.$client.unsafe<Hour[]>(NEXT)
    if (!next || !(await mergeHour(db, next, tenantsKept))) return
  }
}

/** False when another process merges. */
async function mergeHour(db: Database, { accountId, hour }: Hour, tenantsKept: number): Promise<boolean> {
  return db.$client.begin(async (tx) => {
    const [{ isFree }] = await tx<[{ isFree: boolean }]>`select pg_try_advisory_xact_lock(${LOCK}) as "isFree"`
    if (!isFree) return false
    const busiest = await tx.unsafe<{ tenant_id: string }[]>(BUSIEST, [accountId, hour, tenantsKept + 1])
    const names = busiest.slice(0, tenantsKept).map(({ tenant_id }) => tenant_id)
    const kept = busiest.length > tenantsKept ? JSON.stringify(names) : null
    let merged: number
    do {
      const [row] = await tx.unsafe<[{ rows: number }]>(MERGE, [accountId, hour, kept])
      merged = row.rows
    } while (merged === ROWS)
    return true
  })
}
