import type { Database } from '../db/connect.ts'
import { LATENCY_BOUNDS_MS, LATENCY_COLUMNS } from '../db/latency.ts'
import { STATS_COUNTS } from '../db/schema.ts'
import { BOUNCED, REASONS, REJECTED } from './counts.ts'

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
  /** By the reason's word, zeros included. */
  reasons: Record<string, number>
  /** Emails in each bucket of latency.ts. */
  latencies: number[]
  /** One for each period, in order. */
  series: Counts[]
}

type Row = Record<string, number> & { series: [period: number, delivered: number, bounced: number, rejected: number][] }

const sums = (type: string) => STATS_COUNTS.map((column) => `sum(${column})::${type} as ${column}`).join(', ')

/**
 * Adds up the hours of an account: one range of the primary key, and one statement, so that the totals are the sums of the series
 * whatever is recorded meanwhile.
 */
export async function readStatistics(db: Database, question: StatisticsQuestion): Promise<Statistics> {
  const { accountId, from, to, stepMs, domain, tenantId = '' } = question
  const sql = db.$client
  const [row] = await sql<[Row]>`
    with periods as (
      select (extract(epoch from hour)::int8 - ${from / 1_000}::int8) / ${stepMs / 1_000}::int8 as period, ${sql.unsafe(sums('int8'))}
      from hourly_stats
      where account_id = ${accountId} and tenant_id = ${tenantId}
        and hour >= to_timestamp(${from / 1_000}::int8) and hour < to_timestamp(${to / 1_000}::int8)
        ${domain === undefined ? sql`` : sql`and domain = ${domain}`}
      group by 1
    )
    select ${sql.unsafe(sums('float8'))},
      coalesce(json_agg(json_build_array(period, delivered, ${sql.unsafe(BOUNCED)}, ${sql.unsafe(REJECTED)})), '[]') as series
    from periods`
  const count = (column: string) => row[column] ?? 0
  const series = Array.from({ length: (to - from) / stepMs }, () => ({ delivered: 0, bounced: 0, rejected: 0 }))
  for (const [period, delivered, bounced, rejected] of row.series) series[period] = { delivered, bounced, rejected }
  return {
    delivered: count('delivered'),
    bounced: series.reduce((sum, { bounced }) => sum + bounced, 0),
    rejected: series.reduce((sum, { rejected }) => sum + rejected, 0),
    complaints: count('complaints'),
    reasons: Object.fromEntries(REASONS.map((reason) => [reason, count(reason)])),
    latencies: LATENCY_COLUMNS.map(count),
    series,
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
