import type { TransactionSql } from 'postgres'
import { workOnEach } from '../async/each.ts'
import type { Database } from '../db/connect.ts'
import { STATS_COUNTS } from '../db/schema.ts'
import { one, run, UNPREPARED } from '../db/statement.ts'
import { addCounts, DAY_ROWS, MERGED_SHARD, OTHER_TENANTS, REJECTED, SENT } from './counts.ts'

// Once an hour is over its shards are added up in shard 0, so a year of hours is that many rows. The names of tenants
// are free text: only the busiest of an account keep their own row.

/** Per account and hour. */
const TENANTS_KEPT = 1_000
/** Rows that one statement adds up, so that it ends within the time limit of statements. */
const ROWS_PER_STATEMENT = 20_000
/** Hours of accounts that one round merges. */
const MOST_HOURS = 10_000
/** The key of the advisory lock. One process merges at a time: two would each keep other tenants. */
export const MERGING_LOCK = 0x7374_6174 // 'stat'

// No commit counts in these hours any more: even the longest statement of that time has ended.
// Accounts take turns.
const OPEN_HOURS = `
  select account_id as "accountId", hour from hourly_stats
  where shard <> ${MERGED_SHARD} and hour < date_trunc('hour', now() - interval '5 minutes', 'UTC')
  group by account_id, hour order by row_number() over (partition by account_id order by hour), hour limit ${MOST_HOURS}`

const TRY_LOCK = `select pg_try_advisory_xact_lock(${MERGING_LOCK}) as "isFree"`

const SHARDS_OF_HOUR = `account_id = $1 and hour = $2 and shard <> ${MERGED_SHARD}`

const BUSIEST_TENANTS = `
  select tenant_id from hourly_stats where ${SHARDS_OF_HOUR} and tenant_id <> ''
  group by tenant_id order by sum(${SENT} + ${REJECTED}) desc, tenant_id limit $3`

const MERGE = `
  with shard_row as (
    delete from hourly_stats
    where ctid = any(array(select ctid from hourly_stats where ${SHARDS_OF_HOUR} limit ${ROWS_PER_STATEMENT})) returning *
  ),
  tenant_row as (
    select account_id, hour, domain, ${STATS_COUNTS.join(', ')},
      case
        when $3::json is null or tenant_id = '' or tenant_id in (select json_array_elements_text($3::json)) then tenant_id
        else '${OTHER_TENANTS}'
      end as tenant_id
    from shard_row
  ),
  merged_row as (
    insert into hourly_stats as kept (account_id, tenant_id, hour, domain, shard, ${STATS_COUNTS.join(', ')})
    select account_id, tenant_id, hour, domain, ${MERGED_SHARD}, ${STATS_COUNTS.map((column) => `sum(${column})`).join(', ')}
    from tenant_row
    group by account_id, tenant_id, hour, domain order by account_id, tenant_id, hour, domain
    on conflict (account_id, tenant_id, hour, domain, shard) do update set
      ${addCounts(STATS_COUNTS)}
  )
  select count(*)::int as rows from shard_row`

interface Hour {
  accountId: string
  hour: Date
}

/** Merges the hours that are over, accounts in turn. Returns early when another process merges. */
export async function mergeStatistics(db: Database, tenantsKept = TENANTS_KEPT): Promise<void> {
  await workOnEach(await run<Hour>(db, OPEN_HOURS), (hour) => mergeHour(db, hour, tenantsKept))
}

/** Returns false when another process merges. */
async function mergeHour(db: Database, hour: Hour, tenantsKept: number): Promise<boolean> {
  return db.$client.begin(async (tx) => {
    const { isFree } = one(await run<{ isFree: boolean }>(tx, TRY_LOCK))
    if (isFree) await mergeShards(tx, hour, tenantsKept)
    return isFree
  })
}

async function mergeShards(tx: TransactionSql, { accountId, hour }: Hour, tenantsKept: number): Promise<void> {
  const busiest = await run<{ tenant_id: string }>(tx, BUSIEST_TENANTS, [accountId, hour, tenantsKept + 1], UNPREPARED)
  const names = busiest.slice(0, tenantsKept).map(({ tenant_id }) => tenant_id)
  const keptNames = busiest.length > tenantsKept ? JSON.stringify(names) : null
  let mergedRows: number
  do {
    mergedRows = one(await run<{ rows: number }>(tx, MERGE, [accountId, hour, keptNames], UNPREPARED)).rows
  } while (mergedRows === ROWS_PER_STATEMENT)
}

const OLD_HOURS = `
  select account_id as "accountId", date_trunc('day', hour, 'UTC') as hour from hourly_stats
  where hour < to_timestamp($1::float8 / 1000) and hour <> date_trunc('day', hour, 'UTC')
  group by 1, 2 order by row_number() over (partition by account_id order by date_trunc('day', hour, 'UTC')), 2`

/** Any shard but the merged one: the merge then takes its rows as those of one hour. */
const DAY_SHARD = 1
const MOVE_DAY = `
  with hour_row as (
    delete from hourly_stats
    where account_id = $1 and hour >= $2 and hour < $2::timestamptz + interval '1 day'
      and tenant_id <> '${DAY_ROWS}' and shard = ${MERGED_SHARD}
    returning *
  )
  insert into hourly_stats (account_id, tenant_id, hour, domain, shard, ${STATS_COUNTS.join(', ')})
  select account_id, tenant_id, $2, domain, ${DAY_SHARD}, ${STATS_COUNTS.map((column) => `sum(${column})`).join(', ')}
  from hour_row group by account_id, tenant_id, domain`

/**
 * Adds up the hours of every day before `firstKeptHourMs` in the day's first hour, a day of each account in turn.
 * Returns how many. The busiest tenants of the day keep their own row. Returns early when another process merges.
 */
export async function rollUpDays(db: Database, firstKeptHourMs: number, tenantsKept = TENANTS_KEPT): Promise<number> {
  const days = await run<Hour>(db, OLD_HOURS, [firstKeptHourMs], UNPREPARED)
  let done = 0
  await workOnEach(days, (day) =>
    db.$client.begin(async (tx) => {
      const [lock] = await run<{ isFree: boolean }>(tx, TRY_LOCK)
      if (!lock?.isFree) return false
      await run(tx, MOVE_DAY, [day.accountId, day.hour], UNPREPARED)
      await mergeShards(tx, day, tenantsKept)
      done++
      return true
    }),
  )
  return done
}
