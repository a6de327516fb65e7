import type { Database } from '../db/connect.ts'
import { LATENCY_COLUMNS } from '../db/latency-buckets.ts'
import { one, run } from '../db/statement.ts'
import { DAY_ROWS, openCondition, REASONS, REJECTED } from './counts.ts'
import type { StatisticsQuery } from './statistics.ts'

/** What an account sent in one period. An email in doubt is in `inDoubt`, and in no other count. */
export interface PeriodStatistics {
  delivered: number
  bounced: number
  rejected: number
  inDoubt: number
  complaints: number
  /** Bounced and rejected emails by the name of their reason, without the reasons that did not occur. */
  reasons: Record<string, number>
  /** Emails in each bucket of latency-buckets.ts, those in doubt included. */
  latencies: number[]
}

const COLUMNS = ['delivered', 'complaints', 'in_doubt', ...REASONS, ...LATENCY_COLUMNS]

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

const SUMS = COLUMNS.map((column) => `sum(${column}) as ${column}`).join(', ')

/** SQL: the rows of an account in the range that starts at `from`. */
const rowsOf = (tenant: string, from = 'to_timestamp($2::int8)') => `hourly_stats
    where account_id = $1 and tenant_id = '${tenant}' and hour >= ${from} and hour < to_timestamp($3::int8)`

// The rows come as one list for each column: as JSON this is shorter than one object for each period.
const periodsOf = (periods: string) => `
  with ${periods}
  select json_build_object('seconds', coalesce(json_agg(extract(epoch from period)::int8), '[]'), 'rejected', json_agg(${REJECTED}),
    ${COLUMNS.map((column) => `'${column}', json_agg(${column})`).join(', ')}) as counts
  from periods`

const PERIODS = periodsOf(`periods as (
    select date_bin($4::interval, hour, to_timestamp($2::int8)) as period, ${SUMS} from ${rowsOf('')} group by 1
  )`)

// A day that is over has its sums in one row. The hours after the last such day are added up here.
const DAYS = periodsOf(`summed as materialized (select * from ${rowsOf(DAY_ROWS)}),
  rest as (
    select date_bin($4::interval, hour, to_timestamp($2::int8)) as period, ${SUMS}
    from ${rowsOf('', "coalesce((select max(hour) + interval '1 day' from summed), to_timestamp($2::int8))")} group by 1
  ),
  periods as (select hour as period, ${COLUMNS.join(', ')} from summed union all select * from rest order by 1)`)

const MINUTE_RANGE = 'minute >= to_timestamp($2::int8) and minute < to_timestamp($3::int8)'

// The minutes that are added up, and the emails that are not yet: see open-statistics.ts.
const MINUTES = periodsOf(`periods as (
    select date_bin($4::interval, minute, to_timestamp($2::int8)) as period, ${SUMS}
    from (
      select minute, ${COLUMNS.join(', ')} from minute_stats
      where account_id = $1 and tenant_id = '' and ${MINUTE_RANGE}
      union all
      select minute, ${COLUMNS.map((column) => `count(*) filter (where ${openCondition(column)})`).join(', ')}
      from open_stats where account_id = $1 and ${MINUTE_RANGE} group by minute
    ) as minutes group by 1
  )`)

type Row = { counts: { seconds: number[] } & Record<string, number[]> }

/** Reads the statistics of an account for each period from `from` to `to`, in order. */
export async function readPeriods(
  db: Database,
  { accountId, from, to, stepMs }: Pick<StatisticsQuery, 'accountId' | 'from' | 'to' | 'stepMs'>,
): Promise<PeriodStatistics[]> {
  const statement = stepMs === DAY_MS ? DAYS : stepMs === MINUTE_MS ? MINUTES : PERIODS
  const parameters = [accountId, from / 1_000, to / 1_000, `${stepMs} milliseconds`]
  const { seconds, ...counts } = one(await run<Row>(db, statement, parameters)).counts
  const rowOf = new Map(seconds.map((second, i) => [second * 1_000, i]))
  return Array.from({ length: (to - from) / stepMs }, (_, period) => {
    const i = rowOf.get(from + period * stepMs)
    return periodOf((column) => (i === undefined ? 0 : (counts[column]?.[i] ?? 0)))
  })
}

/** In doubt is a bounce whose reason is `connection_timeout`. */
function periodOf(count: (column: string) => number): PeriodStatistics {
  const inDoubt = count('in_doubt')
  const reasons = REASONS.map((reason): [string, number] => [
    reason,
    count(reason) - (reason === 'connection_timeout' ? inDoubt : 0),
  ]).filter(([, emails]) => emails > 0)
  const rejected = count('rejected')
  return {
    delivered: count('delivered'),
    bounced: reasons.reduce((sum, [, emails]) => sum + emails, 0) - rejected,
    rejected,
    inDoubt,
    complaints: count('complaints'),
    reasons: Object.fromEntries(reasons),
    latencies: LATENCY_COLUMNS.map(count),
  }
}
