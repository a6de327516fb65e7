import { useQuery } from '@connectrpc/connect-query'
import { keepPreviousData } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Granularity, StatsService } from '../../gen/verdict/v1/stats_pb.ts'
import { useAccount } from '../account/account.ts'
import { countOf } from '../numbers/quantities.ts'
import { present } from '../present.ts'
import { reasonWord } from '../status/reasons.ts'
import { figuresOf, rankedReasons } from './comparison.ts'
import styles from './figures.module.css'
import { FiguresSkeleton } from './overview-skeleton.tsx'
import { messagesIn, type TimeRange, timesOf } from './range.ts'

const REFRESH_MS = 15_000
/** The range before is over. Only late bounces and complaints still change it. */
const REFRESH_BEFORE_MS = 60_000
/** The reasons that are shown: the rarer ones are in the table of a period. */
const MOST_REASONS = 5

/** A total would be widened to whole hours. */
const totalOf = (granularity: Granularity) => (granularity === Granularity.MINUTE ? granularity : Granularity.TOTAL)

/** Four figures of the range with their change to the period before, and the reasons by their frequency. */
export function Figures({ range: { fromMs, toMs, granularity }, simulated }: { range: TimeRange; simulated: boolean }) {
  const { membership } = useAccount()
  const shared = { granularity: totalOf(granularity), simulated }
  const current = { ...timesOf({ fromMs, toMs }), ...shared }
  const earlier = { ...timesOf({ fromMs: 2 * fromMs - toMs, toMs: fromMs }), ...shared }
  const now = useQuery(StatsService.method.getStats, current, {
    refetchInterval: REFRESH_MS,
    placeholderData: keepPreviousData,
  })
  const before = useQuery(StatsService.method.getStats, earlier, {
    refetchInterval: REFRESH_BEFORE_MS,
    placeholderData: keepPreviousData,
  })
  // Who tries the service with the simulator would take its figures for these.
  const isEmpty = !simulated && now.data?.totals?.sent === 0
  const tried = useQuery(StatsService.method.getStats, { ...current, simulated: true }, { enabled: isEmpty })
  const triedEmails = isEmpty ? (tried.data?.totals?.sent ?? 0) : 0
  // The charts below say what is wrong when the statistics cannot be read.
  if (!now.data || !before.data)
    return now.error || before.error ? <div className={styles.place} /> : <FiguresSkeleton />
  const params = { account: membership.accountId }
  const times = timesOf({ fromMs, toMs })
  const messages = messagesIn({ fromMs, toMs }, simulated)
  const reasons = rankedReasons(now.data.reasons)
  const { lateBounces } = present(now.data.totals)
  return (
    <div className={styles.place}>
      <ul className={styles.figures} aria-label="Figures">
        {figuresOf(now.data, before.data).map(({ label, value, change, isWorse, page, search }) => (
          <li key={label}>
            <Link
              to={`/$account/${page}`}
              params={params}
              search={{ ...(page === 'messages' ? messages : times), ...search }}
            >
              <span className={styles.label}>{label}</span>
              <strong>{value}</strong>
              <span className={styles.change} data-worse={isWorse || undefined}>
                {change === undefined ? 'Nothing before' : `${change} from the period before`}
              </span>
            </Link>
          </li>
        ))}
      </ul>
      {triedEmails > 0 && (
        <Link to="/$account" params={params} search={(now) => ({ ...now, simulated: 'true' })} className="text-link">
          {triedEmails === 1 ? 'One email' : `${countOf(triedEmails)} emails`} went to the simulator, which is counted
          apart
        </Link>
      )}
      {(reasons.length > 0 || lateBounces > 0) && (
        <ol className={styles.reasons} aria-label="Reasons">
          {lateBounces > 0 && (
            <li>
              <Link
                to="/$account/events"
                params={params}
                search={{ ...times, feedback: 'late_bounce' }}
                className="text-link"
              >
                Came back after delivery
              </Link>{' '}
              {countOf(lateBounces)}
            </li>
          )}
          {reasons.slice(0, MOST_REASONS).map(([reason, emails]) => (
            <li key={reason}>
              <Link to="/$account/messages" params={params} search={{ ...messages, reason }} className="text-link">
                {reasonWord(reason)}
              </Link>{' '}
              {countOf(emails)}
            </li>
          ))}
        </ol>
      )}
    </div>
  )
}
