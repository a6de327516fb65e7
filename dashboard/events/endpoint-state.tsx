import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { useQuery } from '@connectrpc/connect-query'
import { Link } from '@tanstack/react-router'
import { type CountEventsResponse, ReplayService } from '../../gen/verdict/admin/v1/replays_pb.ts'
import { type Endpoint, WebhookService } from '../../gen/verdict/v1/webhooks_pb.ts'
import { useAccount } from '../account/account.ts'
import { failureToneOf } from '../attempts/endpoint-health.ts'
import { endpointName } from '../attempts/endpoint-name.ts'
import { countOf } from '../numbers/quantities.ts'
import { Pill } from '../status/status-pill.tsx'
import { Ago } from '../time/ago.tsx'
import styles from './events.module.css'

const REFRESH_MS = 10_000
const DAY_MS = 86_400_000

/** Whether the endpoint gets its events: what waits, what it missed in the last day, and the way to send it again. */
export function EndpointState() {
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
  const health = endpoint.health!
  const name = data.endpoints.length === 1 ? '' : ` ${endpointName(endpoint)}`
  const { waiting, oldestWaitingAt, consecutiveFailures, lastSuccessAt, acknowledged, failed } = health
  const failure = failureToneOf({ failedSince: consecutiveFailures, hasAcknowledged: lastSuccessAt !== undefined })
  const wasTried = acknowledged + failed > 0
  return (
    <div className={styles.endpoint}>
      {failure ? (
        <Pill tone={failure} word={`Endpoint${name} fails`} />
      ) : waiting > 0 ? (
        <Pill tone="waiting" word="Waiting" />
      ) : (
        <Pill tone="delivered" word="Up to date" />
      )}
      <span>
        {waitingWords(waiting)}
        {oldestWaitingAt && (
          <>
            , the oldest of an event from <Ago at={oldestWaitingAt} />.
          </>
        )}{' '}
        {consecutiveFailures > 0 &&
          (consecutiveFailures === 1
            ? 'The last attempt failed. '
            : `The last ${countOf(consecutiveFailures)} attempts failed. `)}
        {failure && (
          <>
            <Link to="/$account/settings/webhook" params={params} className="text-link">
              Test the endpoint
            </Link>
            .{' '}
          </>
        )}
        {wasTried && <Missed />}
      </span>
    </div>
  )
}

/** The endpoint that needs attention first: the one that has failed most often, else the one that most waits for. */
function worstOf(endpoints: readonly Endpoint[]): Endpoint {
  const weight = ({ health }: Endpoint) => [health!.consecutiveFailures, health!.waiting] as const
  return endpoints.reduce((worst, endpoint) => {
    const [[failures, waiting], [worstFailures, worstWaiting]] = [weight(endpoint), weight(worst)]
    return failures > worstFailures || (failures === worstFailures && waiting > worstWaiting) ? endpoint : worst
  })
}

function waitingWords(waiting: number): string {
  if (waiting === 0) return 'No attempt waits.'
  return waiting === 1 ? 'One attempt waits' : `${countOf(waiting)} attempts wait`
}

/** How many events of the last day never reached the endpoint, with the way to replay them. */
function Missed() {
  const { membership } = useAccount()
  const fromMs = Math.floor((Date.now() - DAY_MS) / 60_000) * 60_000
  const filter = { from: timestampFromMs(fromMs), notAcknowledged: true }
  const { data } = useQuery(ReplayService.method.countEvents, { filter }, { refetchInterval: 60_000 })
  if (!data || (data.count === 0 && !data.countedFrom)) return null
  return (
    <Link
      to="/$account/events/replay"
      params={{ account: membership.accountId }}
      search={{ from: new Date(fromMs).toISOString(), missed: 'true' }}
      className="text-link"
    >
      {missedWords(data)}
    </Link>
  )
}

/** An account with much mail is counted in part only, so that the page stays cheap. */
function missedWords({ count, countedFrom }: CountEventsResponse): string {
  if (count === 0) return 'Look for events of the last 24 hours that were not acknowledged'
  const events = `${countOf(count)} ${count === 1 ? 'event' : 'events'}`
  return `Replay ${countedFrom ? 'at least ' : ''}${events} of the last 24 hours that ${count === 1 ? 'was' : 'were'} not acknowledged or never pushed`
}
