import { timestampMs } from '@bufbuild/protobuf/wkt'
import { useMutation, useQuery } from '@connectrpc/connect-query'
import { Button } from '@mantine/core'
import { IconExternalLink } from '@tabler/icons-react'
import { createContext, type ReactNode, useContext } from 'react'
import { Role } from '../../gen/verdict/admin/v1/options_pb.ts'
import { ReplayService } from '../../gen/verdict/admin/v1/replays_pb.ts'
import {
  type Attempt,
  type AttemptRequest,
  type Dispatch,
  DispatchKind,
  DispatchState,
  EventService,
  type GetEventResponse,
} from '../../gen/verdict/v1/events_pb.ts'
import { WebhookService } from '../../gen/verdict/v1/webhooks_pb.ts'
import { useMay } from '../account/account.ts'
import { CodeBlock } from '../copy/code-block.tsx'
import { CallFault, ErrorState } from '../feedback/error-state.tsx'
import { LoadingBlock } from '../feedback/loading.tsx'
import { OutsideText } from '../outside-text/outside-text.tsx'
import { useRefresh } from '../refresh.ts'
import { Pill } from '../status/status-pill.tsx'
import { TONE_ICONS, type Tone } from '../status/statuses.ts'
import { Ago, Countdown } from '../time/ago.tsx'
import { lengthOf } from '../time/times.ts'
import styles from './attempts.module.css'
import { curlCommand, isWholeUrl } from './curl-command.ts'
import { endpointName } from './endpoint-name.ts'
import { NotSent } from './not-sent.tsx'
import { shownAttempt } from './outcomes.ts'
import { type TimelineEntry, timelineOf } from './timeline.ts'

/** An event that waits for its next attempt is loaded again this often. */
const WAITING_MS = 3_000

/** What happened to an event on its way to the endpoint. It is kept up to date while an attempt is due. */
export function EventTimeline({ eventId }: { eventId: string }) {
  const event = useQuery(
    EventService.method.getEvent,
    { eventId },
    { refetchInterval: ({ state }) => (isWaiting(state.data) ? WAITING_MS : false) },
  )
  if (event.data) return <Timeline event={event.data} />
  if (event.error) return <ErrorState error={event.error} retry={() => void event.refetch()} />
  return <LoadingBlock height={96} />
}

const isWaiting = (event: GetEventResponse | undefined) =>
  event?.dispatches.some(({ state }) => state === DispatchState.WAITING) ?? false

function Timeline({ event }: { event: GetEventResponse }) {
  const entries = timelineOf(event.timestamp, event.dispatches)
  const nameOf = useEndpointNames(event.dispatches)
  return (
    <EndpointName value={nameOf}>
      <ol className={styles.timeline}>
        {entries.map((entry) => (
          <TimelineRow key={keyOf(entry)} entry={entry} isAcknowledged={event.acknowledgedAt !== undefined} />
        ))}
      </ol>
      {event.dispatches.length === 0 && (
        <p className={`soft ${styles.none}`}>
          <NotSent sandbox={event.sandbox} />
        </p>
      )}
    </EndpointName>
  )
}

/** The name of an endpoint where an event went to several; undefined where it is clear. */
const EndpointName = createContext<(endpointId: string) => string | undefined>(() => undefined)

/** Returns the names of the endpoints that an event was dispatched to. */
function useEndpointNames(dispatches: readonly Dispatch[]): (endpointId: string) => string | undefined {
  const isSeveral = new Set(dispatches.map(({ endpointId }) => endpointId)).size > 1
  const { data } = useQuery(WebhookService.method.listEndpoints, {}, { enabled: isSeveral })
  if (!isSeveral) return () => undefined
  return (id) => {
    const endpoint = data?.endpoints.find(({ endpointId }) => endpointId === id)
    return endpoint ? endpointName(endpoint) : 'an endpoint that was deleted'
  }
}

function To({ dispatch: { endpointId } }: { dispatch: Dispatch }) {
  const name = useContext(EndpointName)(endpointId)
  return name === undefined ? null : ` to ${name}`
}

function keyOf(entry: TimelineEntry): string {
  if (entry.kind === 'recorded') return entry.kind
  const id = `${entry.kind} ${entry.dispatch.dispatchId}`
  if (entry.kind === 'attempt') return `${id} ${entry.attempt.number} ${entry.at?.seconds}`
  return entry.kind === 'next' ? `${id} ${entry.dispatch.attempts.length}` : id
}

function TimelineRow({ entry, isAcknowledged }: { entry: TimelineEntry; isAcknowledged: boolean }) {
  if (entry.kind === 'recorded') {
    return (
      <TimelinePoint tone="neutral" at={<Ago at={entry.at} />}>
        The event was recorded.
      </TimelinePoint>
    )
  }
  if (entry.kind === 'replayed') {
    return (
      <TimelinePoint tone="neutral" at={<Ago at={entry.at} />}>
        Replayed
        <To dispatch={entry.dispatch} />. <TemporalLink dispatch={entry.dispatch} />
      </TimelinePoint>
    )
  }
  if (entry.kind === 'ended') {
    return (
      <TimelinePoint tone="error" at={<Ago at={entry.at} />}>
        {entry.words} <TemporalLink dispatch={entry.dispatch} />
      </TimelinePoint>
    )
  }
  if (entry.kind === 'attempt') return <AttemptEntry {...entry} />
  return <NextAttemptPoint dispatch={entry.dispatch} isAcknowledged={isAcknowledged} />
}

function TimelinePoint({ tone, at, children }: { tone: Tone; at?: ReactNode; children: ReactNode }) {
  const Icon = TONE_ICONS[tone]
  return (
    <li className={styles.point}>
      <span className={styles.mark} data-tone={tone}>
        {tone !== 'neutral' && <Icon size={12} stroke={2.4} aria-hidden />}
      </span>
      <div className={styles.what}>{children}</div>
      <span className={styles.when}>{at}</span>
    </li>
  )
}

function AttemptEntry({ dispatch, attempt }: { dispatch: Dispatch; attempt: Attempt }) {
  const { number, statusCode, durationMs, responseExcerpt, responseCut, startedAt, request } = attempt
  const { tone, word, sentence } = shownAttempt(attempt)
  const ofReplay = dispatch.kind === DispatchKind.REPLAY ? ' of the replay' : ''
  const isLatest = attempt === dispatch.attempts.at(-1)
  return (
    <TimelinePoint tone={tone} at={<Ago at={startedAt} />}>
      <p className={styles.line}>
        <span className={styles.attempt}>
          Attempt {number}
          {ofReplay}
          <To dispatch={dispatch} />
        </span>
        <Pill tone={tone} word={word} />
        {statusCode !== undefined && <code>HTTP {statusCode}</code>}
        {durationMs !== undefined && <span className="soft">{lengthOf(durationMs)}</span>}
      </p>
      {tone !== 'delivered' && <p className="soft">{sentence}</p>}
      {request && <PostedRequest request={request} />}
      {responseExcerpt && tone !== 'delivered' && !isLatest && (
        <p className={styles.earlier}>
          <OutsideText text={responseExcerpt} mono line />
        </p>
      )}
      {responseExcerpt && tone !== 'delivered' && isLatest && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the block scrolls, and a keyboard has to reach it
        <section tabIndex={0} className={styles.response} aria-label="Response">
          <span className="faint">Response: </span>
          <OutsideText text={responseExcerpt} mono />
          {responseCut && <span className="faint"> The rest is not stored.</span>}
        </section>
      )}
    </TimelinePoint>
  )
}

/** What an attempt posted, and a command that posts it again. */
function PostedRequest({ request }: { request: AttemptRequest }) {
  const { url, headers, body } = request
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return (
    <details className={styles.request}>
      <summary>Request</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the block scrolls, and a keyboard has to reach it */}
      <section tabIndex={0} aria-label="Request of the attempt" className={styles.response}>
        <OutsideText text={[`POST ${url ?? '(URL not shown)'}`, ...lines, '', body].join('\n')} mono />
      </section>
      <p className="soft">
        The same as curl. It signs anew: set <code>WEBHOOK_SECRET</code> first
        {!isWholeUrl(url) && (
          <>
            , and <code>WEBHOOK_URL</code>
          </>
        )}
        .
      </p>
      <CodeBlock code={curlCommand(request)} label="curl command" />
    </details>
  )
}

function NextAttemptPoint({ dispatch, isAcknowledged }: { dispatch: Dispatch; isAcknowledged: boolean }) {
  const { nextAttemptAt, attempts, kind } = dispatch
  const ofReplay = kind === DispatchKind.REPLAY ? ' of the replay' : ''
  if (!nextAttemptAt) {
    return (
      <TimelinePoint tone="waiting">
        An attempt{ofReplay}
        <To dispatch={dispatch} /> is running. <TemporalLink dispatch={dispatch} />
      </TimelinePoint>
    )
  }
  return (
    <TimelinePoint tone="waiting">
      <p className={styles.line}>
        <span className={styles.attempt}>
          Attempt {(attempts.at(-1)?.number ?? 0) + 1}
          {ofReplay}
          <To dispatch={dispatch} />
        </span>
        <span>
          <Countdown at={nextAttemptAt} passed="is due now" />
        </span>
        <RetryButton dispatchId={dispatch.dispatchId} />
        <TemporalLink dispatch={dispatch} />
      </p>
      {isAcknowledged && (
        <p className="soft">
          Your endpoint has acknowledged this event already. Each dispatch ends by itself, so this one sends the event
          once more, with the same id.
        </p>
      )}
    </TimelinePoint>
  )
}

function RetryButton({ dispatchId }: { dispatchId: string }) {
  const refresh = useRefresh()
  const retry = useMutation(ReplayService.method.retryDispatch, {
    onSuccess: () => refresh(EventService.method.getEvent),
  })
  if (!useMay(Role.MEMBER)) return null
  return (
    <>
      <Button
        variant="default"
        size="compact-xs"
        loading={retry.isPending}
        disabled={retry.isSuccess}
        onClick={() => retry.mutate({ dispatchId })}
      >
        Retry now
      </Button>
      <CallFault error={retry.error} />
    </>
  )
}

function TemporalLink({ dispatch: { workflowUrl, workflowKeptUntil } }: { dispatch: Dispatch }) {
  if (!workflowUrl && workflowKeptUntil && timestampMs(workflowKeptUntil) < Date.now())
    return (
      <span className={`faint ${styles.workflow}`}>
        Temporal kept its workflow until <Ago at={workflowKeptUntil} />.
      </span>
    )
  if (!workflowUrl) return null
  return (
    <a href={workflowUrl} target="_blank" rel="noreferrer" className={`text-link ${styles.workflow}`}>
      Workflow in Temporal
      <IconExternalLink size={12} aria-label="opens another site" />
    </a>
  )
}
