import {
  type ConnectionLike,
  WorkflowClient,
  type WorkflowClientInterceptor,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
} from '@temporalio/client'
import type { SearchAttributePair, TypedSearchAttributes } from '@temporalio/common'
import { publicId } from '../server/db/ids.ts'
import { NO_TRACING, type Tracing } from '../server/telemetry/tracing.ts'
import type { Group, RangeReplay, Workflows } from '../server/webhooks/queue/workflows.ts'
import { replayWorkflowId } from '../server/webhooks/replays/replay-ids.ts'
import { CALL_MS } from './connection.ts'
import type { deliverWebhooks } from './deliver-webhooks.ts'
import { createKnownAttributes } from './known-attributes.ts'
import type { replayRange } from './replay-range.ts'
import { describeResponses } from './responses.ts'
import {
  ACCOUNT_ID,
  ATTEMPT_NUMBER,
  DELIVERY_STATUS,
  DISPATCH_KIND,
  ENDPOINT_ID,
  EVENT_IDS,
  MESSAGE_IDS,
  WEBHOOK_ENDPOINT,
} from './search-attributes.ts'
import { MAX_GROUP, WORKFLOW_TASK_MS } from './worker-limits.ts'

/** Replays have their own task queue, so that a bulk replay does not delay retries. */
export const TASK_QUEUES = { original: 'webhook-retries', replay: 'webhook-replays' } as const

interface WorkflowsParts {
  connection: ConnectionLike
  namespace: string
  /** The retry schedule of new workflows: the delay before each attempt. Workflows that run keep theirs. */
  scheduleMs: readonly number[]
  tracing?: Tracing
  interceptors?: WorkflowClientInterceptor[]
  /** Is called with the search attributes that the namespace lacks: workflows start without them. */
  onMissingAttributes?(names: string[]): void
}

/** The most terminated workflows that one call returns, and how many of them come in one page. */
const MAX_TERMINATED = 5_000
const LIST_PAGE = 1_000

const STATIC_DETAILS =
  'Attempts to push events to a webhook endpoint. The signals `retryNow` and `cancel` take ids of events (`evt_`), ' +
  'messages (`msg_`) or dispatches (`dsp_`), and mean all of them without an id.'

/** Starts and cancels the workflows of webhooks. Each call takes at most five seconds. */
export function createWorkflows(parts: WorkflowsParts): Workflows {
  const { connection, namespace, scheduleMs, tracing = NO_TRACING, interceptors, onMissingAttributes } = parts
  const client = new WorkflowClient({ connection, namespace, interceptors })
  const attributes = createKnownAttributes(connection, namespace, onMissingAttributes)
  const withDeadline = <T>(call: () => Promise<T>) => connection.withDeadline(Date.now() + CALL_MS, call)

  const starter = { client, attributes, scheduleMs }
  return {
    maxGroup: MAX_GROUP,
    start: (group) => tracing.within(group.traceparent, () => withDeadline(() => startGroup(starter, group))),
    closed: async (workflowIds) => {
      const closed = await withDeadline(() => Promise.all(workflowIds.map((id) => isClosed(client, id))))
      return workflowIds.filter((_, index) => closed[index])
    },
    terminatedSince: (ms) => withDeadline(() => terminatedSince(client, ms)),
    cancel: (workflowId, dispatchIds) => withDeadline(() => signalCancel(client, workflowId, dispatchIds)),
    retryNow: (workflowId, dispatchId) =>
      withDeadline(() => client.getHandle(workflowId).signal<[string[]]>('retryNow', [publicId('dsp', dispatchId)])),
    startReplay: (replay, traceparent) =>
      tracing.within(traceparent, () => withDeadline(() => startReplay(starter, replay))),
  }
}

interface Starter {
  client: WorkflowClient
  attributes: ReturnType<typeof createKnownAttributes>
  scheduleMs: readonly number[]
}

async function startGroup({ client, attributes, scheduleMs }: Starter, group: Group): Promise<void> {
  const { workflowId, kind, endpointHost } = group
  const { events, messages } = subjectsOf(group)
  const what = events.length === 1 ? `${events[0]} of ${messages[0]}` : `${events.length} events`
  const startWith = (typedSearchAttributes: TypedSearchAttributes) =>
    client.start<typeof deliverWebhooks>('deliverWebhooks', {
      workflowId,
      taskQueue: TASK_QUEUES[kind],
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowTaskTimeout: WORKFLOW_TASK_MS,
      typedSearchAttributes,
      memo: { events, messages },
      staticSummary: `${kind === 'replay' ? 'Replay of ' : ''}${what} to ${endpointHost}`,
      staticDetails: STATIC_DETAILS,
      args: [inputOf(group, scheduleMs)],
    })
  await attributes.startWith(searchAttributesOf(group), startWith).catch((error) => {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error
  })
}

async function isClosed(client: WorkflowClient, workflowId: string): Promise<boolean> {
  try {
    const { status } = await client.getHandle(workflowId).describe()
    return status.name !== 'RUNNING'
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return true
    throw error
  }
}

/** The visibility store of Temporal answers: one call, however many workflows run. */
async function terminatedSince(client: WorkflowClient, ms: number): Promise<string[]> {
  const query =
    `WorkflowType = 'deliverWebhooks' and ExecutionStatus in ('Terminated', 'TimedOut') and ` +
    `CloseTime >= '${new Date(ms).toISOString()}'`
  const ids = new Set<string>()
  for await (const { workflowId } of client.list({ query, pageSize: LIST_PAGE })) {
    ids.add(workflowId)
    if (ids.size === MAX_TERMINATED) break
  }
  return [...ids]
}

async function signalCancel(client: WorkflowClient, workflowId: string, dispatchIds?: string[]): Promise<void> {
  const publicIds = dispatchIds?.map((id) => publicId('dsp', id))
  const signalling = client.getHandle(workflowId).signal<[string[]?]>('cancel', publicIds)
  await signalling.catch((error) => {
    // The workflow is already over.
    if (!(error instanceof WorkflowNotFoundError)) throw error
  })
}

/** A replay whose workflow was terminated, or lost, gets another one with the same id. */
async function startReplay({ client, attributes }: Starter, replay: RangeReplay): Promise<void> {
  const { id, accountId, endpointId, total } = replay
  const shownId = publicId('rpl', id)
  const wanted: SearchAttributePair[] = [
    { key: ACCOUNT_ID, value: publicId('acc', accountId) },
    { key: DISPATCH_KIND, value: 'replay' },
  ]
  if (endpointId) wanted.push({ key: ENDPOINT_ID, value: publicId('whk', endpointId) })
  await attributes.startWith(wanted, (typedSearchAttributes) =>
    client.start<typeof replayRange>('replayRange', {
      workflowId: replayWorkflowId(id),
      taskQueue: TASK_QUEUES.replay,
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowTaskTimeout: WORKFLOW_TASK_MS,
      typedSearchAttributes,
      staticSummary: `Replay of ${total === 1 ? '1 event' : `${total} events`}`,
      args: [{ replayId: shownId }],
    }),
  )
}

/** The input of a group's workflow. The Temporal UI shows the input first: its first lines say what it is about. */
function inputOf(group: Group, scheduleMs: readonly number[]): Parameters<typeof deliverWebhooks>[0] {
  const dispatches = group.dispatches.map((dispatch) => ({ ...dispatch, id: publicId('dsp', dispatch.id) }))
  const deadlineMs = Math.max(...dispatches.map((dispatch) => dispatch.deadlineMs))
  const earlier = dispatches.filter((dispatch) => dispatch.deadlineMs < deadlineMs)
  const progress = dispatches.flatMap(({ id, previousResult }) => {
    const lastResponse = previousResult && describeResponses([previousResult])
    return lastResponse ? [[id, { status: 'waiting', lastResponse }] as const] : []
  })
  return {
    lastAnswer: describeResponses(dispatches.flatMap(({ previousResult }) => previousResult ?? [])),
    subjects: Object.fromEntries(
      dispatches.map(({ id, eventId, messageId }) => {
        return [id, { event: publicId('evt', eventId), message: publicId('msg', messageId) }]
      }),
    ),
    progress: Object.fromEntries(progress),
    rounds: [{ dispatchIds: dispatches.map(({ id }) => id), attempt: group.attempt, dueMs: group.dueMs }],
    account: publicId('acc', group.accountId),
    endpoint: publicId('whk', group.endpointId),
    scheduleMs: [...scheduleMs],
    deadlineMs,
    deadlines: Object.fromEntries(earlier.map((dispatch) => [dispatch.id, dispatch.deadlineMs])),
  }
}

/** The public ids of a group's events, and of their messages, each once. */
function subjectsOf({ dispatches }: Group) {
  const messages = new Set(dispatches.map(({ messageId }) => publicId('msg', messageId)))
  return { events: dispatches.map(({ eventId }) => publicId('evt', eventId)), messages: [...messages] }
}

function searchAttributesOf(group: Group): SearchAttributePair[] {
  const { kind, accountId, endpointId, endpointHost, attempt } = group
  const { events, messages } = subjectsOf(group)
  return [
    { key: ACCOUNT_ID, value: publicId('acc', accountId) },
    { key: ENDPOINT_ID, value: publicId('whk', endpointId) },
    { key: DISPATCH_KIND, value: kind },
    { key: ATTEMPT_NUMBER, value: attempt },
    { key: WEBHOOK_ENDPOINT, value: endpointHost },
    { key: DELIVERY_STATUS, value: 'waiting' },
    { key: EVENT_IDS, value: events },
    { key: MESSAGE_IDS, value: messages },
  ]
}
