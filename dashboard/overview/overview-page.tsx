import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import { useQuery } from '@connectrpc/connect-query'
import { keepPreviousData } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import {
  type GetOverviewResponse,
  type OverviewPeriod,
  OverviewService,
} from '../../gen/verdict/admin/v1/overview_pb.ts'
import { useAccount } from '../account/account.ts'
import { ErrorState } from '../feedback/error-state.tsx'
import { LoadingBlock } from '../feedback/loading.tsx'
import { Page } from '../frame/page.tsx'
import { Pill } from '../status/status-pill.tsx'
import { Charts } from './charts.tsx'
import { FirstSteps } from './first-steps.tsx'
import { healthOf } from './health.ts'
import styles from './overview.module.css'
import { type Range, rangeOf } from './range.ts'
import { RangePicker } from './range-picker.tsx'

const REFRESH_MS = 15_000

/** Whether anything is wrong right now, and what happened over time. */
export function OverviewPage() {
  const { membership } = useAccount()
  const account = membership.accountId
  const search = useSearch({ from: '/$account/' })
  const navigate = useNavigate()
  const range = rangeOf(search, Date.now())
  const overview = useQuery(OverviewService.method.getOverview, requestOf(range), {
    refetchInterval: REFRESH_MS,
    placeholderData: keepPreviousData,
  })
  // Without it the first steps would appear later, and move the charts down.
  const setUp = useQuery(OverviewService.method.getSetUp, {})
  const openPeriod = ({ period }: OverviewPeriod) => {
    const fromMs = timestampMs(period!)
    const times = { from: new Date(fromMs).toISOString(), to: new Date(fromMs + range.stepMs).toISOString() }
    void navigate({ to: '/$account/messages', params: { account }, search: times })
  }
  return (
    <Page title="Overview" actions={<RangePicker search={search} range={range} />}>
      {overview.error && !overview.data ? (
        <ErrorState error={overview.error} retry={() => void overview.refetch()} />
      ) : !overview.data || setUp.isPending ? (
        <LoadingBlock height={640} />
      ) : (
        <>
          <HealthLine overview={overview.data} />
          <FirstSteps />
          <Charts overview={overview.data} stepMs={range.stepMs} onOpen={openPeriod} />
        </>
      )}
    </Page>
  )
}

const requestOf = ({ fromMs, toMs, granularity }: Range) => ({
  from: timestampFromMs(fromMs),
  to: timestampFromMs(toMs),
  granularity,
})

function HealthLine({ overview }: { overview: GetOverviewResponse }) {
  const { membership } = useAccount()
  return (
    <ul className={styles.health} aria-live="polite" aria-label="Health">
      {healthOf(overview, Date.now()).map(({ tone, sentence, page, search }) => (
        <li key={sentence}>
          <Pill tone={tone} word={TONE_WORDS[tone] ?? 'Look at this'} />
          {page ? (
            <Link
              to={`/$account/${page}`}
              params={{ account: membership.accountId }}
              search={search}
              className="text-link"
            >
              {sentence}
            </Link>
          ) : (
            <span>{sentence}</span>
          )}
        </li>
      ))}
    </ul>
  )
}

const TONE_WORDS: Partial<Record<string, string>> = {
  delivered: 'Healthy',
  error: 'Act now',
  warning: 'Warning',
  doubt: 'In doubt',
}
