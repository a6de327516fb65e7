import type { Database } from '../db/connect.ts'
import { LATENCY_BOUNDS_MS, LATENCY_COLUMNS } from '../db/latency-buckets.ts'
import { STATS_COUNTS } from '../db/schema.ts'
import { BOUNCED, OTHER_TENANTS, REASONS, REJECTED } from './counts.ts'

export interface StatisticsQuestion {
  accountId: string
  /** Unix milliseconds, whole hours; `from` included, `to` excluded. */
  from: number
  to: number
  /** The length of a period of the series, which divides the time. */
  stepMs: number
  domain?: string
  tenantId?: string
}

export interface Counts {
  delivered: number
  bounced: number
  rejected: number
}

export interface Statistics extends Counts {
  complaints: number
  lateBounces: number
  /** By the reason's word, zeros included. */
  reasons: Record<string, number>
  /** Emails in each bucket of latency-buckets.ts. */
  latencies: number[]
  /** One for each period, in order. */
  series: Counts[]
  /** Of one tenant: in some hour it may be counted together with others. See merge-statistics.ts. */
  isIncomplete: boolean
}

/** Lists by the column, of the periods that have counts: less to write and to read than a list for each period. */
type Columns = Record<'seconds' | 'delivered' | 'bounced' | 'rejected', number[]>
type Row = Record<string, number> & { series: Columns } & { isIncomplete: boolean }

const SUMS = STATS_COUNTS.map((column) => `sum(${column})::float8 as ${column}`).join(', ')

/**
 * Adds up the hours of an account, each time over one range of the primary key. One statement, so that the totals are the sums of the
 * series whatever is recorded meanwhile. Two scans are faster than one that keeps every count of every period.
 */
export async function readStatistics(db: Database, question: StatisticsQuestion): Promise<Statistics> {
  const { accountId, from, to, stepMs, domain, tenantId = '' } = question
  const sql = db.$client
  const hoursOf = (tenantId: string) => sql`hourly_stats where account_id = ${accountId} and tenant_id = ${tenantId}
    and hour >= to_timestamp(${from / 1_000}::int8) and hour < to_timestamp(${to / 1_000}::int8)`
  const counted = sql`${hoursOf(tenantId)}
    ${domain === undefined ? sql`` : sql`and domain = ${domain}`}`
  const [row] = await sql<[Row]>`
    with totals as (select ${sql.unsafe(SUMS)} from ${counted}),
    periods as (
      select date_bin(${stepMs} * interval '1 millisecond', hour, to_timestamp(${from / 1_000}::int8)) as period,
        sum(delivered) as delivered, sum(${sql.unsafe(BOUNCED)}) as bounced, sum(${sql.unsafe(REJECTED)}) as rejected
      from ${counted} group by 1
    )
    select *, ${tenantId !== ''} and exists (select from ${hoursOf(OTHER_TENANTS)}) as "isIncomplete", (
      select json_build_object('seconds', coalesce(json_agg(extract(epoch from period)::int8), '[]'), 'delivered', json_agg(delivered),
        'bounced', json_agg(bounced), 'rejected', json_agg(rejected))
      from periods
    ) as series
    from totals`
  const count = (column: string) => row[column] ?? 0
  const series = Array.from({ length: (to - from) / stepMs }, () => ({ delivered: 0, bounced: 0, rejected: 0 }))
  const { seconds, delivered, bounced, rejected } = row.series
  for (const [i, second] of seconds.entries()) {
    series[(second * 1_000 - from) / stepMs] = {
      delivered: delivered[i]!,
      bounced: bounced[i]!,
      rejected: rejected[i]!,
    }
  }
  return {
    delivered: count('delivered'),
    bounced: series.reduce((sum, { bounced }) => sum + bounced, 0),
    rejected: series.reduce((sum, { rejected }) => sum + rejected, 0),
    complaints: count('complaints'),
    lateBounces: count('late_bounces'),
    reasons: Object.fromEntries(REASONS.map((reason) => [reason, count(reason)])),
    latencies: LATENCY_COLUMNS.map(count),
    series,
    isIncomplete: row.isIncomplete,
  }
}

/**
 * The latency that `share` of the emails did not exceed, in milliseconds: between the bounds of its bucket as far as the emails of the
 * bucket that did not exceed it. Above the last bound nothing more is known than that bound. undefined of no emails.
 */
export function latencyPercentile(latencies: number[], share: number): number | undefined {
  let rank = share * latencies.reduce((sum, count) => sum + count, 0)
  if (rank === 0) return undefined
  for (const [bucket, upper] of LATENCY_BOUNDS_MS.entries()) {
    const count = latencies[bucket]!
    const lower = LATENCY_BOUNDS_MS[bucket - 1] ?? 0
    if (rank <= count) return Math.round(lower + ((upper - lower) * rank) / count)
    rank -= count
  }
  return LATENCY_BOUNDS_MS.at(-1)
}
