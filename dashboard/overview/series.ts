import type { OverviewPeriod } from '../../gen/verdict/admin/v1/overview_pb.ts'
import { msOf } from '../time/ms-of.ts'

/** The columns of a chart, as uPlot takes them: seconds first, then a list of values for each line. */
export type ChartColumns = [seconds: number[], ...values: (number | null)[][]]

const secondsOf = (periods: OverviewPeriod[]) => periods.map(({ period }) => msOf(period) / 1_000)

/** The outcomes in the order in which they are stacked, from the bottom. */
export const OUTCOMES = ['delivered', 'bounced', 'rejected', 'inDoubt'] as const

/** The outcomes stacked upon one another. The last is the sum of all. */
export function stackedOutcomes(periods: OverviewPeriod[]): ChartColumns {
  const columns = OUTCOMES.map((_, upTo) =>
    periods.map((period) => OUTCOMES.slice(0, upTo + 1).reduce((sum, outcome) => sum + period[outcome], 0)),
  )
  return [secondsOf(periods), ...columns]
}

/** The percentiles in milliseconds; null where nothing was sent. */
export function latencies(periods: OverviewPeriod[]): ChartColumns {
  const percentile = (name: 'p50' | 'p95' | 'p99') => periods.map(({ latencyMs }) => latencyMs?.[name] ?? null)
  return [secondsOf(periods), percentile('p50'), percentile('p95'), percentile('p99')]
}

/** The worst rates that a breaker saw, in percent; null where no domain had enough emails. */
export function rates(periods: OverviewPeriod[]): ChartColumns {
  const percent = (rate: number | undefined) => (rate === undefined ? null : rate * 100)
  return [
    secondsOf(periods),
    periods.map(({ worstBounceRate }) => percent(worstBounceRate)),
    periods.map(({ worstComplaintRate }) => percent(worstComplaintRate)),
  ]
}

/** Attempts that the endpoint acknowledged, and all attempts. */
export function webhookAttempts(periods: OverviewPeriod[]): ChartColumns {
  return [
    secondsOf(periods),
    periods.map(({ acknowledged }) => acknowledged),
    periods.map(({ acknowledged, notAcknowledged }) => acknowledged + notAcknowledged),
  ]
}
