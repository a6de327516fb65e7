import { useQuery } from '@connectrpc/connect-query'
import { Link } from '@tanstack/react-router'
import { type Endpoint, WebhookService } from '../../gen/verdict/v1/webhooks_pb.ts'
import { useAccount } from '../account/account.ts'
import { failureToneOf } from '../attempts/endpoint-health.ts'
import { endpointName } from '../attempts/endpoint-name.ts'
import { requestTime, timeOf } from '../lists/read-filters.ts'
import { countOf } from '../numbers/quantities.ts'
import { present } from '../present.ts'
import { PRESETS, type RangeSearch, withTimes } from '../range/presets.ts'
import { Pill } from '../status/status-pill.tsx'
import { Ago } from '../time/ago.tsx'
import { useEventCount } from './event-count.ts'
import styles from './events.module.css'

const REFRESH_MS = 10_000

interface EndpointStateProps {
  /** The range of the list. */
  search: RangeSearch
  /** Whether the list has any event. */
  hasEvents: boolean
}

/** Whether the endpoint gets its events: what waits, what it missed in the range, and the way to send it again. */
export function EndpointState(props: EndpointStateProps) {
  const { membership } = useAccount()
  const params = { account: membership.accountId }
  const { data } = useQuery(WebhookService.method.listEndpoints, {}, { refetchInterval: REFRESH_MS })
  if (data?.endpoints.length === 0) {
    return (
      <p className={styles.endpoint}>
        <Pill tone="neutral" word="No endpoint" />
        <span>
          Events are stored and pushed nowhere.{' '}
          <Link to="/$account/settings/webhook" params={params} className="text-link">
            Set an endpoint
          </Link>
        </span>
      </p>
    )
  }
  const endpoint = data && worstOf(data.endpoints)
  if (!endpoint) return <div className={styles.endpoint} />
  const health = present(endpoint.health)
  const name = data.endpoints.length === 1 ? '' : ` ${endpointName(endpoint)}`
  const { waiting, oldestWaitingAt, consecutiveFailures, lastSuccessAt, acknowledged, failed } = health
  const failure = failureToneOf({ failedSince: consecutiveFailures, hasAcknowledged: lastSuccessAt !== undefined })
  const wasTried = acknowledged + failed > 0
  return (
    <div className={styles.endpoint}>
      {failure ? (
        <Pill
          tone={failure}
          word={consecutiveFailures === 1 ? `Last attempt${name && ` at${name}`} failed` : `Endpoint${name} fails`}
        />
      ) : waiting > 0 ? (
        <Pill tone="waiting" word="Waiting" />
      ) : (
        <Pill tone="delivered" word="Up to date" />
      )}
      <span>
        {waitingWords(waiting)}
        {oldestWaitingAt && (
          <>
            , the oldest for an event of <Ago at={oldestWaitingAt} />.
          </>
        )}{' '}
        {consecutiveFailures > 1 && `The last ${countOf(consecutiveFailures)} attempts failed. `}
        {failure && (
          <>
            <Link to="/$account/settings/webhook" params={params} className="text-link">
              Test the endpoint
            </Link>
            .{' '}
          </>
        )}
        {(wasTried || props.hasEvents) && <Missed {...props} isOne={data.endpoints.length === 1} />}
      </span>
    </div>
  )
}

/** The endpoint that needs attention first: the one that has failed most often, else the one that most waits for. */
function worstOf(endpoints: readonly Endpoint[]): Endpoint {
  const weight = ({ health }: Endpoint) => [health?.consecutiveFailures ?? 0, health?.waiting ?? 0] as const
  return endpoints.reduce((worst, endpoint) => {
    const [[failures, waiting], [worstFailures, worstWaiting]] = [weight(endpoint), weight(worst)]
    return failures > worstFailures || (failures === worstFailures && waiting > worstWaiting) ? endpoint : worst
  })
}

function waitingWords(waiting: number): string {
  if (waiting === 0) return 'No attempt waits.'
  return waiting === 1 ? 'One attempt waits' : `${countOf(waiting)} attempts wait`
}

/** Whether events of the range never reached the endpoint, with the way to replay them. */
function Missed({ search, hasEvents, isOne }: EndpointStateProps & { isOne: boolean }) {
  const { membership } = useAccount()
  const isChosen = search.range !== undefined || search.from !== undefined || search.to !== undefined
  const asked: RangeSearch = withTimes(isChosen ? search : LAST_DAY, Date.now())
  // A start within the minute keeps the request the same for a minute.
  const fromMs = timeOf(asked.from)
  const from = fromMs === undefined ? undefined : new Date(Math.floor(fromMs / 60_000) * 60_000).toISOString()
  const filter = { from: requestTime(from), to: requestTime(asked.to), notAcknowledged: true }
  const { count, isComplete, isCounting } = useEventCount(filter, {
    refetchInterval: 60_000,
    mostCalls: isChosen ? MOST_CALLS : 1,
  })
  if (isCounting) return null
  const range = rangeWords(search)
  if (count === 0 && isComplete) return hasEvents && acknowledgedWords(range, isOne)
  return (
    <Link
      to="/$account/events/replay"
      params={{ account: membership.accountId }}
      search={{ from, to: asked.to, missed: 'true' }}
      className="text-link"
    >
      {missedWords(count, isComplete, range)}
    </Link>
  )
}

/** A range that a person has chosen is counted for some seconds. */
const MOST_CALLS = 20

const LAST_DAY: RangeSearch = { range: '24h' }

function rangeWords({ range, from, to }: RangeSearch): string {
  const preset = PRESETS.find(([name]) => name === range)
  if (preset) return `of the last ${preset[1].replace(/^1 /, '')}`
  return from || to ? 'of this range' : 'of the last 24 hours'
}

/** A replay counts neither dry runs nor kinds of events that no endpoint asks for. */
const acknowledgedWords = (range: string, isOne: boolean) =>
  isOne
    ? `Your endpoint acknowledged every event ${range} that it asks for.`
    : `Your endpoints acknowledged every event ${range} that they ask for.`

/** An account with much mail is counted in part only, so that the page stays cheap. */
function missedWords(count: number, isComplete: boolean, range: string): string {
  if (count === 0) return `Look for events ${range} that were not acknowledged`
  const events = `${countOf(count)} ${count === 1 ? 'event' : 'events'}`
  return `Replay ${isComplete ? '' : 'at least '}${events} ${range} that ${count === 1 ? 'was' : 'were'} not acknowledged or never pushed`
}
