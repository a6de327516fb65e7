import type { BreakerThresholds, GetOverviewResponse, OverviewPeriod } from '../../gen/verdict/admin/v1/overview_pb.ts'
import { countOf, percentOf } from '../numbers/quantities.ts'
import { present } from '../present.ts'
import { lengthOf } from '../time/times.ts'
import { Chart, type Value } from './chart.tsx'
import { rankedReasons } from './comparison.ts'
import styles from './overview.module.css'
import type { ChartLine, ChartMark } from './plot.tsx'
import { latencies, rates, stackedOutcomes, webhookAttempts } from './series.ts'

/** Attempts are counted by the hour. */
const HOUR = 3_600_000
/** The service computes the rates of the last 31 days of a range only. */
const RATES_MS = 31 * 24 * HOUR

interface ChartsProps {
  overview: GetOverviewResponse
  stepMs: number
  /** Opens the messages of a period. */
  onOpen(period: OverviewPeriod): void
  /** What the first chart says without any email. */
  empty: string
}

/** Outcomes, latency, the rates of the breaker and the webhook over time. */
export function Charts({ overview, stepMs, onOpen, empty }: ChartsProps) {
  const { periods, latencyMs, endpoints } = overview
  const thresholds = present(overview.thresholds)
  const shared = { periods, stepMs }
  return (
    <div className={styles.charts}>
      <Chart
        {...shared}
        title="Emails"
        columns={reversed(stackedOutcomes(periods))}
        lines={[...OUTCOME_LINES].reverse()}
        values={OUTCOME_VALUES}
        empty={empty}
        more={({ reasons }) => <span className="faint">{reasonWords(reasons)}</span>}
        summary="Click a bar to see its messages."
        word={countOf}
        onOpen={onOpen}
      />
      <Chart
        {...shared}
        title="Time to the outcome"
        columns={latencies(periods)}
        lines={LATENCY_LINES}
        values={LATENCY_VALUES}
        empty="No outcome in this range."
        summary={
          latencyMs?.p50 === undefined ? undefined : `Half within ${lengthOf(latencyMs.p50)} over the whole range.`
        }
        word={lengthOf}
      />
      <Chart
        {...shared}
        title="Bounces and complaints"
        columns={rates(periods)}
        lines={RATE_LINES}
        values={RATE_VALUES}
        empty={`No domain sent ${countOf(thresholds.minEmails)} emails within 24 hours: below that no rate counts.`}
        summary={
          thresholdWords(thresholds) + (periods.length * stepMs > RATES_MS ? ' Shown for the last 31 days.' : '')
        }
        marks={[
          markOf('Pause', thresholds.bounceOpen, '--error-mark'),
          markOf('Warning', thresholds.bounceWarn, '--bounced-mark'),
          markOf('Complaints: pause', thresholds.complaintOpen, '--error-mark'),
        ]}
        leastTop={2}
        word={(percent) => percentOf(percent / 100)}
      />
      {endpoints.length > 0 && stepMs >= HOUR && (
        <Chart
          {...shared}
          title="Webhook attempts"
          columns={reversed(webhookAttempts(periods))}
          lines={[...ATTEMPT_LINES].reverse()}
          values={ATTEMPT_VALUES}
          empty="No attempt in this range."
          summary={waitingWords(endpoints.reduce((sum, { waiting }) => sum + waiting, 0))}
          word={countOf}
        />
      )}
    </div>
  )
}

/** Stacked bars are drawn from the largest sum to the smallest. */
const reversed = ([seconds, ...columns]: ReturnType<typeof stackedOutcomes>): ReturnType<typeof stackedOutcomes> => [
  seconds,
  ...columns.reverse(),
]

const OUTCOME_VALUES: Value[] = [
  { label: 'Delivered', color: '--delivered-mark', of: ({ delivered }) => countOf(delivered) },
  { label: 'Bounced', color: '--bounced-mark', of: ({ bounced }) => countOf(bounced) },
  { label: 'Rejected', color: '--rejected-mark', of: ({ rejected }) => countOf(rejected) },
  { label: 'In doubt', color: '--doubt-mark', hatched: true, of: ({ inDoubt }) => countOf(inDoubt) },
]

const OUTCOME_LINES: ChartLine[] = OUTCOME_VALUES.map((value) => ({ ...value, bars: true }))

const latency = (name: 'p50' | 'p95' | 'p99', color: string, dash: number[]): Value => ({
  label: name,
  color,
  dash,
  of: ({ latencyMs }) => (latencyMs?.[name] === undefined ? '-' : lengthOf(latencyMs[name])),
})

const LATENCY_VALUES = [
  latency('p50', '--ink', []),
  latency('p95', '--ink-soft', [6, 3]),
  latency('p99', '--ink-pale', [2, 3]),
]
const LATENCY_LINES: ChartLine[] = LATENCY_VALUES

const rate = (label: string, color: string, rateOf: (period: OverviewPeriod) => number | undefined): Value => ({
  label,
  color,
  dash: [],
  of(period) {
    const rate = rateOf(period)
    return rate === undefined ? '-' : percentOf(rate)
  },
})

const RATE_VALUES = [
  rate('No such mailbox', '--bounced-mark', ({ worstBounceRate }) => worstBounceRate),
  rate('Complaints', '--error-mark', ({ worstComplaintRate }) => worstComplaintRate),
]
const RATE_LINES: ChartLine[] = RATE_VALUES

const ATTEMPT_VALUES: Value[] = [
  { label: 'Acknowledged', color: '--delivered-mark', of: ({ acknowledged }) => countOf(acknowledged) },
  { label: 'Failed', color: '--error-mark', of: ({ notAcknowledged }) => countOf(notAcknowledged) },
]
const ATTEMPT_LINES: ChartLine[] = ATTEMPT_VALUES.map(({ label, color }) => ({ label, color, bars: true }))

/** `3 mailbox full, 1 policy block`: the reasons of a period, the most frequent first. */
function reasonWords(reasons: Record<string, number>): string {
  return rankedReasons(reasons)
    .map(([reason, count]) => `${countOf(count)} ${reason.replaceAll('_', ' ')}`)
    .join(', ')
}

/** What the lines are, and the rates at which a domain is paused: the axis may end below the line for bounces. */
const thresholdWords = ({ bounceOpen, complaintOpen }: BreakerThresholds) =>
  `The worst domain, over 24 hours each. A domain pauses at ${percentOf(bounceOpen)}, or at ${percentOf(complaintOpen)} complaints.`

/** A limit: `Pause at 10 %`. */
function markOf(word: string, share: number, color: string): ChartMark {
  return { value: share * 100, color, word: `${word} at ${percentOf(share)}` }
}

function waitingWords(waiting: number): string {
  if (waiting === 0) return 'No event waits.'
  return waiting === 1 ? 'One attempt waits.' : `${countOf(waiting)} attempts wait.`
}
