import type { Database } from '../db/connect.ts'
import { run } from '../db/statement.ts'
import { COMPLAINTS, HARD_BOUNCES, SENT } from './counts.ts'
import type { StatisticsQuery } from './statistics.ts'

const HOUR_MS = 3_600_000
/** All hours of all domains are read: those of 400 days took 0.7 s for 20 domains. */
const LONGEST_MS = 31 * 24 * HOUR_MS

/** The highest rates that the breakers of an account saw in a period; null where none had enough emails. */
export interface WorstRates {
  bounces: number | null
  complaints: number | null
}

/** The running hour and the 23 before it are what a breaker reads when a domain sends: see breaker-state.ts. */
const WORST_RATES = `
  with hours as materialized (
    select domain, hour, sum(${SENT}) as copies, sum(${HARD_BOUNCES}) as bounces, sum(${COMPLAINTS}) as complaints
    from hourly_stats
    where account_id = $1 and tenant_id = '' and hour >= to_timestamp($2::int8) - interval '23 hours'
      and hour < to_timestamp($3::int8)
    group by domain, hour
  ),
  seen as (
    select hour, sum(copies) over day as copies, sum(bounces) over day as bounces, sum(complaints) over day as complaints
    from hours
    window day as (partition by domain order by hour range between interval '23 hours' preceding and current row)
  )
  select extract(epoch from date_bin($4::interval, hour, to_timestamp($2::int8)))::int8 as second,
    max(bounces::float8 / copies::float8) as bounces, max(complaints::float8 / copies::float8) as complaints
  from seen where hour >= to_timestamp($2::int8) and copies >= greatest($5::int, 1)
  group by 1`

/**
 * Reads the worst rates for each period from `from` to `to`, in order: those of the last 31 days. Periods of minutes
 * have those of their hour.
 */
export async function readWorstRates(
  db: Database,
  { accountId, from, to, stepMs }: Pick<StatisticsQuery, 'accountId' | 'from' | 'to' | 'stepMs'>,
  minEmails: number,
): Promise<WorstRates[]> {
  const binMs = Math.max(stepMs, HOUR_MS)
  const since = Math.max(from, to - LONGEST_MS)
  const start = since - (stepMs < HOUR_MS ? since % HOUR_MS : 0)
  const rows = await run<{ second: number } & WorstRates>(db, WORST_RATES, [
    accountId,
    start / 1_000,
    to / 1_000,
    `${binMs} milliseconds`,
    minEmails,
  ])
  const rates = new Map(rows.map(({ second, ...rates }) => [Number(second) * 1_000, rates]))
  const binOf = (ms: number) => start + Math.floor((ms - start) / binMs) * binMs
  return Array.from(
    { length: (to - from) / stepMs },
    (_, period) => rates.get(binOf(from + period * stepMs)) ?? { bounces: null, complaints: null },
  )
}
