import { WorkflowClient, type WorkflowHandle } from '@temporalio/client'
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker'
import { newId, publicId } from '../../server/db/ids.ts'
import type { AttemptResult, DispatchAttempt } from '../../server/webhooks/attempt/attempt-once.ts'
import type { Group, GroupedDispatch } from '../../server/webhooks/queue/workflows.ts'
import { type ActivityParts, createActivities } from '../../workflows/activities.ts'
import { createWorkflows } from '../../workflows/client.ts'
import { lazyConnection } from '../../workflows/connection.ts'
import type { deliverWebhooks } from '../../workflows/deliver-webhooks.ts'
import type { Round } from '../../workflows/rounds.ts'
import { type Bundle, runWorkers } from '../../workflows/run-workers.ts'
import { pauseFor } from '../harness/waits.ts'

// Workflows and their activities on a real Temporal. There are no POSTs and no rows: each test decides how attempts
// end.

export const temporalAt = (address: string) => ({ address, namespace: 'default', apiKey: undefined, tls: undefined })

/** How the attempts of a dispatch end; `index` is its place in the group. */
export type Script = (attempt: DispatchAttempt & { index: number }) => AttemptResult | Promise<AttemptResult>

export const acked: AttemptResult = { state: 'acknowledged', outcome: 'acked', statusCode: 200 }
export const http = (statusCode: number): AttemptResult => ({ state: 'failed', outcome: 'not_200', statusCode })

export interface Delivery {
  workflowId: string
  handle: WorkflowHandle<typeof deliverWebhooks>
  /** UUIDs. */
  dispatchIds: string[]
  /** The ids as the API shows them and workflows use them, `dsp_...`. */
  publicIds: string[]
  /** Calls of attemptOnce so far. */
  calls: Call[]
  /** How dispatches ended without an acknowledgement, by their place in the group. */
  ended: Record<number, string>
}

export interface Call extends DispatchAttempt {
  index: number
  atMs: number
}

export interface Plan extends Partial<Omit<Group, 'dispatches'>> {
  dispatches?: number
  /** What the dispatches have, by their place in the group. */
  each?: Partial<GroupedDispatch>[]
  scheduleMs?: number[]
}

/** For workers that no replay of many events meets. */
export const NO_REPLAYS: ActivityParts['replays'] = {
  dispatchNext: () => Promise.reject(new Error('there is no replay')),
  cancel: () => Promise.reject(new Error('there is no replay')),
}

export type World = Awaited<ReturnType<typeof createWorkflowWorld>>

/** Silences the log of Temporal's SDK, once in a process: the tests provoke its warnings. */
export function quiet(): void {
  if (!Runtime._instance) Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] })
}

/** Starts workers for a Temporal that runs. `close` waits until they end. */
export async function createWorkflowWorld(address: string, workflowBundle: Bundle, replays = NO_REPLAYS) {
  quiet()
  const deliveries = new Map<string, { index: number; script: Script; delivery: Delivery }>()
  const faults: unknown[] = []
  const stopping = new AbortController()
  const activities = createActivities({
    async attemptOnce(attempt) {
      const { index, script, delivery } = deliveries.get(attempt.dispatchId)!
      delivery.calls.push({ ...attempt, index, atMs: Date.now() })
      return script({ ...attempt, index })
    },
    async finishDispatches(ids, state) {
      for (const id of ids) {
        const { index, delivery } = deliveries.get(id)!
        delivery.ended[index] = state
      }
    },
    dropExpired: async () => ['events_20260801'],
    replays,
    verifyDue: async () => ({ verified: 2, pending: 1 }),
    onError: (error) => faults.push(error),
    stopping: stopping.signal,
  })
  const temporal = temporalAt(address)
  const connection = lazyConnection(temporal)
  const client = new WorkflowClient({ connection })
  const native = await NativeConnection.connect({ address })
  const working = runWorkers({
    connection: native,
    namespace: 'default',
    workflowBundle,
    activities,
    stopping: stopping.signal,
  })

  async function deliver(
    script: Script,
    { dispatches = 1, each = [], scheduleMs = [0, 50, 50], ...plan }: Plan = {},
  ): Promise<Delivery> {
    const dispatchIds = Array.from({ length: dispatches }, () => newId(Date.now()))
    const workflowId = plan.workflowId ?? `webhook-${publicId('dsp', dispatchIds[0]!)}-1`
    const delivery: Delivery = {
      workflowId,
      handle: client.getHandle<typeof deliverWebhooks>(workflowId),
      dispatchIds,
      publicIds: dispatchIds.map((id) => publicId('dsp', id)),
      calls: [],
      ended: {},
    }
    for (const [index, id] of dispatchIds.entries()) deliveries.set(id, { index, script, delivery })
    await createWorkflows({ connection, namespace: 'default', scheduleMs }).start({
      workflowId,
      kind: 'original',
      dispatches: dispatchIds.map((id, i) => ({
        ...{ id, eventId: id, messageId: dispatchIds[0]!, deadlineMs: Date.now() + 86_400_000 },
        ...each[i],
      })),
      accountId: dispatchIds[0]!,
      endpointId: dispatchIds[0]!,
      endpointHost: `${workflowId}.example.com`,
      attempt: 1,
      dueMs: Date.now(),
      ...plan,
    })
    return delivery
  }

  return {
    client,
    connection,
    faults,
    deliver,
    async close() {
      stopping.abort()
      await working
      await Promise.all([native.close(), connection.close()])
    },
  }
}

/** Waits until a delivery waits for this attempt. */
export async function waitsFor({ handle }: Delivery, attempt: number): Promise<void> {
  await until(async () => {
    const { rounds } = await handle.query<{ rounds: Round[] }>('state')
    return rounds.some((round) => round.attempt === attempt)
  })
}

/** Waits until the condition holds. */
export async function until(holds: () => boolean | Promise<boolean>, withinMs = 90_000): Promise<void> {
  const giveUpAt = Date.now() + withinMs
  while (!(await holds())) {
    if (Date.now() > giveUpAt) throw new Error('it never came about')
    await pauseFor(20)
  }
}
