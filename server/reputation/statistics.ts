import type { TransactionSql } from 'postgres'
import type { Database } from '../db/connect.ts'
import { LATENCY_BOUNDS_MS, LATENCY_COLUMNS } from '../db/latency-buckets.ts'
import { GROUP_COUNTS } from '../db/schema.ts'
import { one, run } from '../db/statement.ts'
import { BOUNCED, OPEN_COUNTS, OTHER_TENANTS, REASONS, REJECTED } from './counts.ts'

export interface StatisticsQuery {
  accountId: string
  /** Unix milliseconds, whole hours, or minutes where `stepMs` is one; `from` included, `to` excluded. */
  from: number
  to: number
  /** The length of each period of the series. The time from `from` to `to` is a multiple of it. */
  stepMs: number
  domain?: string
  tenantId?: string
}

export interface OutcomeCounts {
  delivered: number
  bounced: number
  rejected: number
}

export interface Statistics extends OutcomeCounts {
  complaints: number
  lateBounces: number
  /** Part of the bounced emails. */
  inDoubt: number
  /** Emails by the name of their reason, including the reasons without any. */
  reasons: Record<string, number>
  /** Emails in each bucket of latency-buckets.ts. */
  latencies: number[]
  /** One for each period, in order. */
  series: OutcomeCounts[]
  /** Counts of the tenant may be missing: in some hour it was counted together with others. See merge-statistics.ts. */
  isIncomplete: boolean
}

/** The periods that have counts, as one list for each column: as JSON this is shorter than one object per period. */
type Columns = Record<'seconds' | 'delivered' | 'bounced' | 'rejected', number[]>
type Row = Record<string, number> & { series: Columns } & { isIncomplete: boolean }

/** The table that a statement reads, and its column with the start of a row's period. */
interface Source {
  table: string
  time: string
}

const HOURS: Source = { table: 'hourly_stats', time: 'hour' }

/** SQL: the sums of what is not added up yet, for each value of `select`. See open-statistics.ts. */
export const openRows = (select: string, where = '') => `
    select ${select}, ${OPEN_COUNTS.map(({ column, condition }) => `count(*) filter (where ${condition}) as ${column}`).join(', ')}
    from open_stats
    where account_id = $1 and ($2 = '' or tenant_id = $2) and minute >= to_timestamp($3::int8)
      and minute < to_timestamp($4::int8) ${where}
    group by ${select}`

const COLUMNS = GROUP_COUNTS.join(', ')

const MINUTES: Source = {
  table: `(
    select account_id, tenant_id, minute, domain, ${COLUMNS} from minute_stats
    where account_id = $1 and tenant_id = $2 and minute >= to_timestamp($3::int8) and minute < to_timestamp($4::int8)
    union all
    select account_id, $2, minute, domain, ${COLUMNS} from (${openRows('account_id, minute, domain')}) as open_minute
  ) as minutes`,
  time: 'minute',
}

/** SQL: the periods of an account and a tenant. */
const periodsOf = ({ table, time }: Source, tenant: string) => `${table} where account_id = $1 and tenant_id = ${tenant}
    and ${time} >= to_timestamp($3::int8) and ${time} < to_timestamp($4::int8)`

// One statement, so that the totals are the sums of the series whatever is recorded meanwhile. Each scan reads one
// range of the primary key. Two scans are faster than one that keeps every count of every period.
const statisticsOf = (source: Source, filter = '') => `
  with totals as (
    select ${GROUP_COUNTS.map((column) => `sum(${column})::float8 as ${column}`).join(', ')}
    from ${periodsOf(source, '$2')} ${filter}
  ),
  periods as (
    select date_bin($5 * interval '1 millisecond', ${source.time}, to_timestamp($3::int8)) as period,
      sum(delivered) as delivered, sum(${BOUNCED}) as bounced, sum(${REJECTED}) as rejected
    from ${periodsOf(source, '$2')} ${filter} group by 1
  )
  select *, $2 <> '' and exists (select from ${periodsOf(HOURS, `'${OTHER_TENANTS}'`)}) as "isIncomplete", (
    select json_build_object('seconds', coalesce(json_agg(extract(epoch from period)::int8), '[]'),
      'delivered', json_agg(delivered), 'bounced', json_agg(bounced), 'rejected', json_agg(rejected))
    from periods
  ) as series
  from totals`

const OF_DOMAIN = 'and domain = $6'
const BY_HOUR = { all: statisticsOf(HOURS), ofDomain: statisticsOf(HOURS, OF_DOMAIN) }
const BY_MINUTE = { all: statisticsOf(MINUTES), ofDomain: statisticsOf(MINUTES, OF_DOMAIN) }

const MINUTE_MS = 60_000

/** Reads the statistics of an account, or of one of its domains or tenants, from its hourly counts. */
export async function readStatistics(db: Database | TransactionSql, query: StatisticsQuery): Promise<Statistics> {
  const { accountId, from, to, stepMs, domain, tenantId = '' } = query
  const parameters = [accountId, tenantId, from / 1_000, to / 1_000, stepMs]
  const statements = stepMs === MINUTE_MS ? BY_MINUTE : BY_HOUR
  const rows =
    domain === undefined
      ? await run<Row>(db, statements.all, parameters)
      : await run<Row>(db, statements.ofDomain, [...parameters, domain])
  const row = one(rows)
  const count = (column: string) => row[column] ?? 0
  const series = Array.from({ length: (to - from) / stepMs }, () => ({ delivered: 0, bounced: 0, rejected: 0 }))
  const { seconds, delivered, bounced, rejected } = row.series
  for (const [i, second] of seconds.entries()) {
    series[(second * 1_000 - from) / stepMs] = {
      delivered: delivered[i] ?? 0,
      bounced: bounced[i] ?? 0,
      rejected: rejected[i] ?? 0,
    }
  }
  return {
    delivered: count('delivered'),
    bounced: series.reduce((sum, { bounced }) => sum + bounced, 0),
    rejected: series.reduce((sum, { rejected }) => sum + rejected, 0),
    complaints: count('complaints'),
    lateBounces: count('late_bounces'),
    inDoubt: count('in_doubt'),
    reasons: Object.fromEntries(REASONS.map((reason) => [reason, count(reason)])),
    latencies: LATENCY_COLUMNS.map(count),
    series,
    isIncomplete: row.isIncomplete,
  }
}

/**
 * Returns the latency that `share` of the emails did not exceed, in milliseconds; undefined when there are no emails.
 * Within its bucket the latency is interpolated between the bounds. Above the last bound it is that bound, because no
 * more is known.
 */
export function latencyPercentile(latencies: number[], share: number): number | undefined {
  let rank = share * latencies.reduce((sum, count) => sum + count, 0)
  if (rank === 0) return undefined
  for (const [bucket, upper] of LATENCY_BOUNDS_MS.entries()) {
    const count = latencies[bucket] ?? 0
    const lower = LATENCY_BOUNDS_MS[bucket - 1] ?? 0
    if (rank <= count) return Math.round(lower + ((upper - lower) * rank) / count)
    rank -= count
  }
  return LATENCY_BOUNDS_MS.at(-1)
}
