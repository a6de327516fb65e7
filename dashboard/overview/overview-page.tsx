import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { useQuery } from '@connectrpc/connect-query'
import { Switch } from '@mantine/core'
import { keepPreviousData, useQuery as useReactQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { type OverviewPeriod, OverviewService } from '../../gen/verdict/admin/v1/overview_pb.ts'
import { useAccount } from '../account/account.ts'
import { ErrorState } from '../feedback/error-state.tsx'
import { Page } from '../frame/page.tsx'
import { OutsideText } from '../outside-text/outside-text.tsx'
import type { RangeSearch } from '../range/presets.ts'
import { RangePicker } from '../range/range-picker.tsx'
import { Pill } from '../status/status-pill.tsx'
import { msOf } from '../time/ms-of.ts'
import { Charts } from './charts.tsx'
import { Figures } from './figures.tsx'
import type { HealthFinding } from './finding.ts'
import { FirstSteps } from './first-steps.tsx'
import { GroupStatistics } from './groups.tsx'
import { findingsOf } from './health.ts'
import styles from './overview.module.css'
import { OverviewSkeleton } from './overview-skeleton.tsx'
import { DEFAULT_PRESET, messagesIn, type OverviewSearch, rangeOf, type TimeRange, timesOf } from './range.ts'
import { faultsOf, readChecks } from './readiness.ts'

const REFRESH_MS = 15_000

/** Whether anything is wrong right now, and what happened over time. */
export function OverviewPage() {
  const { membership, person } = useAccount()
  const account = membership.accountId
  const search = useSearch({ from: '/$account/' })
  const navigate = useNavigate()
  const range = rangeOf(search, Date.now())
  const simulated = search.simulated === 'true'
  const overview = useQuery(
    OverviewService.method.getOverview,
    { ...requestOf(range), simulated },
    {
      refetchInterval: REFRESH_MS,
      placeholderData: keepPreviousData,
    },
  )
  // Without this and the readiness, the first steps or a fault would appear later, and move the charts down.
  const setUp = useQuery(OverviewService.method.getSetUp, {})
  // It also says what is wrong when every other call fails.
  const readiness = useReactQuery({ queryKey: ['readyz'], queryFn: readChecks, refetchInterval: REFRESH_MS })
  const checks = readiness.data ?? {}
  const openPeriod = ({ period }: OverviewPeriod) => {
    const fromMs = msOf(period)
    void navigate({
      to: '/$account/messages',
      params: { account },
      search: messagesIn({ fromMs, toMs: fromMs + range.stepMs }, simulated),
    })
  }
  // Without a valid range in the address, the page shows the default one.
  const isOwn = search.from !== undefined && search.to !== undefined
  const shownRange = isOwn ? timesOf(range) : { range: search.range ?? DEFAULT_PRESET }
  const show = (next: RangeSearch) =>
    void navigate({
      to: '/$account',
      params: { account },
      search: ({ simulated }) => ({ ...next, simulated }),
      replace: true,
    })
  const actions = (
    <>
      {(person.installation?.inbox || simulated) && <SimulatorSwitch search={search} />}
      <RangePicker value={shownRange} onChange={show} />
    </>
  )
  return (
    <Page title="Overview" actions={actions}>
      {overview.error && !overview.data ? (
        <>
          <HealthSummary findings={faultsOf(checks)} />
          <ErrorState error={overview.error} retry={() => void overview.refetch()} />
        </>
      ) : !overview.data || setUp.isPending || readiness.isPending ? (
        <OverviewSkeleton />
      ) : (
        <>
          <HealthSummary findings={findingsOf(overview.data, checks, Date.now())} />
          <FirstSteps />
          <Figures range={range} simulated={simulated} />
          <Charts
            overview={overview.data}
            stepMs={range.stepMs}
            onOpen={openPeriod}
            empty={simulated ? NO_SIMULATED_EMAIL : NO_EMAIL}
          />
          <GroupStatistics range={range} simulated={simulated} />
        </>
      )}
    </Page>
  )
}

const NO_EMAIL = 'No email in this range. Dry runs are not counted, and emails to the simulator are counted apart.'
const NO_SIMULATED_EMAIL = 'No email to the simulator in this range.'

/** Shows what was sent to the simulator in place of everything else. */
function SimulatorSwitch({ search }: { search: OverviewSearch }) {
  const navigate = useNavigate({ from: '/$account/' })
  return (
    <Switch
      label="Simulator"
      className={styles.simulator}
      checked={search.simulated === 'true'}
      onChange={({ currentTarget: { checked } }) =>
        void navigate({ search: { ...search, simulated: checked ? 'true' : undefined }, replace: true })
      }
    />
  )
}

const requestOf = ({ fromMs, toMs, granularity }: TimeRange) => ({
  from: timestampFromMs(fromMs),
  to: timestampFromMs(toMs),
  granularity,
})

function HealthSummary({ findings }: { findings: HealthFinding[] }) {
  const { membership } = useAccount()
  return (
    <ul className={styles.health} aria-live="polite" aria-label="Health">
      {findings.map(({ tone, sentence, words, askAt, page, search }) => (
        <li key={sentence}>
          <Pill tone={tone} word={TONE_WORDS[tone] ?? 'Look at this'} />
          <div>
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
              sentence
            )}
            {words && (
              <q className={styles.words}>
                <OutsideText text={words} />
              </q>
            )}
            {askAt && (
              <a href={askAt} target="_blank" rel="noreferrer" className="text-link">
                Ask the provider
              </a>
            )}
          </div>
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
