import type { TransactionSql } from 'postgres'
import { workOnEach } from '../async/each.ts'
import type { Database } from '../db/connect.ts'
import { isHeld } from '../db/leases.ts'
import { GROUP_COUNTS } from '../db/schema.ts'
import { one, run, UNPREPARED } from '../db/statement.ts'
import { addUp, MERGED_SHARD, openCondition, REJECTED, SENT } from './counts.ts'

// Statistics by the minute and by group. A commit leaves a row for each email in `open_stats`; these are added up every
// few seconds, outside of any send. A row is in one of the tables at any time, so a reader that looks at both in one
// statement counts every email once.

/** Rows that one statement adds up, so that it ends soon. */
const ROWS_PER_STATEMENT = 20_000
/** Per account and UTC day. The emails of further tags are counted without them. */
const TAGS_A_DAY = 100
/** Keys of an account's groups, and tenants, that keep their own rows once an hour is over. */
const KEYS_KEPT = 100
const TENANTS_KEPT = 1_000
/** Rows of an account, an hour and a tenant that one statement leaves for one kind of group. */
const MOST_ROWS = 500
/** The key of the advisory lock. One transaction moves rows at a time: two would each admit other tags. */
export const MOVING_LOCK = 0x6f70_656e // 'open'
/** The lease of an erasure while it searches these tables. It is taken under `MOVING_LOCK`. No row moves meanwhile. */
export const RESTING_LEASE = 'statistics at rest'

const TRY_LOCK = `select pg_try_advisory_xact_lock(${MOVING_LOCK}) as "isFree"`

const COLUMNS = GROUP_COUNTS.join(', ')
const COUNTS = GROUP_COUNTS.map(
  (column) => `coalesce(sum(emails) filter (where ${openCondition(column)}), 0)::int4 as ${column}`,
).join(',\n      ')

const ADD_UP = `
  with open_row as (
    delete from open_stats where ctid = any(array(select ctid from open_stats limit ${ROWS_PER_STATEMENT})) returning *
  ),
  -- Equal rows are counted first: most of the work is to sort them into columns.
  counted as materialized (
    select account_id, minute, tenant.id as tenant_id, domain, recipient_domain, provider, tag, status, reason, in_doubt,
      bucket, count(*) as emails
    from open_row o cross join lateral (
      select '' as id union all select o.tenant_id where o.tenant_id <> '') as tenant
    group by account_id, minute, tenant.id, domain, recipient_domain, provider, tag, status, reason, in_doubt, bucket
  ),
  minute_row as (
    insert into minute_stats (account_id, tenant_id, minute, domain, ${COLUMNS})
    select account_id, tenant_id, minute, domain, ${COUNTS}
    from counted group by account_id, tenant_id, minute, domain
  ),
  provider_minute as (
    insert into provider_minutes (account_id, provider, minute, outcomes, policy_blocks)
    select account_id, provider, minute, sum(emails), coalesce(sum(emails) filter (where reason = 'policy_block'), 0)
    from counted where tenant_id = '' and provider <> '' and status in ('delivered', 'bounced')
    group by account_id, provider, minute
  ),
  new_tag as materialized (
    select account_id, date_trunc('day', minute, 'UTC') as day, tag, sum(emails) as emails
    from counted where tenant_id = '' and tag <> '' group by 1, 2, 3
  ),
  known_tag as materialized (
    select distinct t.account_id, t.day, g.key as tag
    from (select distinct account_id, day from new_tag) as t
    join group_stats g on g.account_id = t.account_id and g.grouped_by = 'tag' and g.tenant_id = '' and g.key <> ''
      and g.hour >= t.day and g.hour < t.day + interval '1 day'
  ),
  admitted_tag as (
    select * from known_tag
    union all
    select account_id, day, tag from (
      select account_id, day, tag, row_number() over (partition by account_id, day order by emails desc, tag)
        + (select count(*) from known_tag k where k.account_id = n.account_id and k.day = n.day) as nth
      from new_tag n
      where not exists (
        select from known_tag k where k.account_id = n.account_id and k.day = n.day and k.tag = n.tag)
    ) as further
    where nth <= ${TAGS_A_DAY}
  ),
  keyed as (
    select c.account_id, g.grouped_by, c.tenant_id, date_trunc('hour', minute, 'UTC') as hour, domain, g.key,
      sum(emails) as all_emails, ${COUNTS}
    from counted c left join admitted_tag a
      on a.account_id = c.account_id and a.day = date_trunc('day', c.minute, 'UTC') and a.tag = c.tag
    cross join lateral (
      values ('provider', provider), ('recipient_domain', recipient_domain), ('tag', case when c.tag = '' then '' else a.tag end)
    ) as g(grouped_by, key)
    where g.key is not null
    group by c.account_id, g.grouped_by, c.tenant_id, 4, domain, g.key
  ),
  group_row as (
    insert into group_stats (account_id, grouped_by, tenant_id, hour, domain, key, ${COLUMNS})
    select account_id, grouped_by, tenant_id, hour, domain, key, ${COLUMNS} from (
      select *, row_number() over (
        partition by account_id, grouped_by, tenant_id, hour order by key = '' desc, all_emails desc) as nth
      from keyed
    ) as ranked
    where nth <= ${MOST_ROWS}
  )
  select count(*)::int as rows from open_row`

/** Whether this transaction may move rows. Until it ends no other one may. */
async function mayMove(tx: TransactionSql): Promise<boolean> {
  const { isFree } = one(await run<{ isFree: boolean }>(tx, TRY_LOCK))
  return isFree && !(await isHeld(tx, RESTING_LEASE))
}

/**
 * Adds up what commits have counted, until nothing is left. Returns early when another process does so, or an erasure
 * searches.
 */
export async function addUpOpen(db: Database): Promise<void> {
  for (;;) {
    const rows = await db.$client.begin(async (tx) => {
      return (await mayMove(tx)) ? one(await run<{ rows: number }>(tx, ADD_UP)).rows : 0
    })
    if (rows < ROWS_PER_STATEMENT) return
  }
}

interface Span {
  accountId: string
  groupedBy: string
  start: Date
}

// The shards of such an hour in `hourly_stats` are merged by then: see merge-statistics.ts. Accounts take turns.
const OPEN_HOURS = `
  select account_id as "accountId", grouped_by as "groupedBy", hour as start from group_stats g
  where not is_merged and hour < date_trunc('hour', now() - interval '5 minutes', 'UTC')
    and not exists (
      select from hourly_stats s where s.account_id = g.account_id and s.hour = g.hour and s.shard <> ${MERGED_SHARD})
  group by account_id, grouped_by, hour
  order by row_number() over (partition by account_id order by hour), hour limit 1000`

const OLD_HOURS = `
  select account_id as "accountId", grouped_by as "groupedBy", date_trunc('day', hour, 'UTC') as start
  from group_stats
  where hour < to_timestamp($1::float8 / 1000) and hour <> date_trunc('day', hour, 'UTC')
  group by 1, 2, 3 order by row_number() over (partition by account_id order by date_trunc('day', hour, 'UTC')), 3`

// A tenant without its own row in `hourly_stats` has none here: the totals of its groups would be missing.
const MERGE = `
  with old_row as (
    delete from group_stats
    where account_id = $1 and grouped_by = $2 and hour >= $3 and hour < $3::timestamptz + $4::interval returning *
  ),
  summed as (
    select tenant_id, domain, key, ${addUp(GROUP_COUNTS)}
    from old_row o
    where tenant_id = '' or exists (
      select from hourly_stats h where h.account_id = $1 and h.tenant_id = o.tenant_id and h.hour = $3)
    group by tenant_id, domain, key
  ),
  keyed as (
    select tenant_id, key, sum(${SENT} + ${REJECTED} + complaints) as emails from summed group by tenant_id, key
  ),
  ranked_key as (
    select *, row_number() over (partition by tenant_id order by key = '' desc, emails desc, key) as nth from keyed
  ),
  ranked_tenant as (
    select tenant_id, row_number() over (order by tenant_id = '' desc, sum(emails) desc, tenant_id) as nth
    from keyed group by tenant_id
  )
  insert into group_stats (account_id, grouped_by, tenant_id, hour, domain, key, is_merged, ${COLUMNS})
  select $1, $2, s.tenant_id, $3, s.domain, s.key, true, ${GROUP_COUNTS.map((column) => `s.${column}`).join(', ')}
  from summed s
  join ranked_key k on k.tenant_id = s.tenant_id and k.key = s.key
  join ranked_tenant t on t.tenant_id = s.tenant_id
  where k.nth <= ${KEYS_KEPT + 1} and t.nth <= ${TENANTS_KEPT + 1}`

/** Merges the groups of every hour that is over: the busiest keep their rows. */
export async function mergeGroups(db: Database): Promise<void> {
  await mergeSpans(db, await run<Span>(db, OPEN_HOURS, [], UNPREPARED), '1 hour')
}

/** Adds up the hours of every day before `firstKeptHourMs` in the day's first hour, as `rollUpDays` does. */
export async function rollUpGroups(db: Database, firstKeptHourMs: number): Promise<void> {
  await mergeSpans(db, await run<Span>(db, OLD_HOURS, [firstKeptHourMs], UNPREPARED), '1 day')
}

async function mergeSpans(db: Database, spans: readonly Span[], length: '1 hour' | '1 day'): Promise<void> {
  await workOnEach(spans, ({ accountId, groupedBy, start }) =>
    db.$client.begin(async (tx) => {
      const isMine = await mayMove(tx)
      if (isMine) await run(tx, MERGE, [accountId, groupedBy, start, length], UNPREPARED)
      return isMine
    }),
  )
}
