import {
  type ConnectionLike,
  WorkflowClient,
  type WorkflowClientInterceptor,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
} from '@temporalio/client'
import { type SearchAttributePair, TypedSearchAttributes } from '@temporalio/common'
import { publicId } from '../server/db/ids.ts'
import { NO_TRACING, type Tracing } from '../server/telemetry/tracing.ts'
import type { Group, Workflows } from '../server/webhooks/workflows.ts'
import { CALL_MS } from './connection.ts'
import type { deliverWebhooks } from './deliver-webhooks.ts'
import type { replayRange } from './replay-range.ts'
import { describeResponses } from './responses.ts'
import { DELIVERY_STATUS, EVENT_IDS, MESSAGE_IDS, WEBHOOK_ENDPOINT } from './search-attributes.ts'
import { MAX_GROUP, WORKFLOW_TASK_MS } from './worker-limits.ts'

/** Replays have a task queue of their own, so that a bulk replay does not delay retries. */
export const TASK_QUEUES = { original: 'webhook-retries', replay: 'webhook-replays' } as const

export interface WorkflowsParts {
  connection: ConnectionLike
  namespace: string
  /** The retry schedule of new workflows: the delay before each attempt. Workflows that run keep theirs. */
  scheduleMs: readonly number[]
  tracing?: Tracing
  interceptors?: WorkflowClientInterceptor[]
}

/** Starts and cancels the workflows of webhooks. Each call takes at most five seconds. */
export function createWorkflows(parts: WorkflowsParts): Workflows {
  const { connection, namespace, scheduleMs, tracing = NO_TRACING, interceptors } = parts
  const client = new WorkflowClient({ connection, namespace, interceptors })
  const withDeadline = <T>(call: () => Promise<T>) => connection.withDeadline(Date.now() + CALL_MS, call)

  async function start(group: Group): Promise<void> {
    const { workflowId, kind, dispatchIds, endpointId, endpointHost, attempt, dueMs, deadlineMs } = group
    const round = { dispatchIds: dispatchIds.map((id) => publicId('dsp', id)), attempt, dueMs }
    const lastAnswer = describeResponses(group.previousResults)
    const events = dispatchIds.length === 1 ? '1 event' : `${dispatchIds.length} events`
    const starting = client.start<typeof deliverWebhooks>('deliverWebhooks', {
      workflowId,
      taskQueue: TASK_QUEUES[kind],
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowTaskTimeout: WORKFLOW_TASK_MS,
      typedSearchAttributes: searchAttributesOf(group),
      staticSummary: `${kind === 'replay' ? 'Replay of ' : ''}${events} to ${endpointHost}`,
      args: [
        { endpoint: publicId('whk', endpointId), scheduleMs: [...scheduleMs], deadlineMs, rounds: [round], lastAnswer },
      ],
    })
    await starting.catch((error) => {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error
    })
  }

  async function isClosed(workflowId: string): Promise<boolean> {
    try {
      const { status } = await client.getHandle(workflowId).describe()
      return status.name !== 'RUNNING'
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return true
      throw error
    }
  }

  async function signalCancel(workflowId: string, dispatchIds?: string[]): Promise<void> {
    const publicIds = dispatchIds?.map((id) => publicId('dsp', id))
    const signalling = client.getHandle(workflowId).signal<[string[]?]>('cancel', publicIds)
    await signalling.catch((error) => {
      // The workflow is already over.
      if (!(error instanceof WorkflowNotFoundError)) throw error
    })
  }

  /** A replay whose workflow was terminated, or lost, gets another one with the same id. */
  async function startReplay(replayId: string, events: number): Promise<void> {
    const shownId = publicId('rpl', replayId)
    await client.start<typeof replayRange>('replayRange', {
      workflowId: `replay-${shownId}`,
      taskQueue: TASK_QUEUES.replay,
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowTaskTimeout: WORKFLOW_TASK_MS,
      staticSummary: `Replay of ${events === 1 ? '1 event' : `${events} events`}`,
      args: [{ replayId: shownId }],
    })
  }

  return {
    maxGroup: MAX_GROUP,
    start: (group) => tracing.within(group.traceparent, () => withDeadline(() => start(group))),
    closed: async (workflowIds) => {
      const closed = await withDeadline(() => Promise.all(workflowIds.map(isClosed)))
      return workflowIds.filter((_, index) => closed[index])
    },
    cancel: (workflowId, dispatchIds) => withDeadline(() => signalCancel(workflowId, dispatchIds)),
    retryNow: (workflowId, dispatchId) =>
      withDeadline(() => client.getHandle(workflowId).signal<[string[]]>('retryNow', [publicId('dsp', dispatchId)])),
    startReplay: (replayId, events, traceparent) =>
      tracing.within(traceparent, () => withDeadline(() => startReplay(replayId, events))),
  }
}

function searchAttributesOf({ eventIds, messageIds, endpointHost }: Group): TypedSearchAttributes {
  const pairs: SearchAttributePair[] = [
    { key: WEBHOOK_ENDPOINT, value: endpointHost },
    { key: DELIVERY_STATUS, value: 'waiting' },
    { key: EVENT_IDS, value: eventIds.map((id) => publicId('evt', id)) },
    { key: MESSAGE_IDS, value: [...new Set(messageIds)].map((id) => publicId('msg', id)) },
  ]
  return new TypedSearchAttributes(pairs)
}
