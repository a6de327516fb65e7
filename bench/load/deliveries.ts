import { Client } from '@temporalio/client'
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker'
import { newId } from '../../server/db/ids.ts'
import { NO_REPLAYS, temporalAt } from '../../test/workflows/world.ts'
import { createActivities } from '../../workflows/activities.ts'
import { createWorkflows } from '../../workflows/client.ts'
import { lazyConnection } from '../../workflows/connection.ts'
import { bundleWorkflows, runWorkers } from '../../workflows/run-workers.ts'
import { createSetUp } from '../../workflows/set-up-namespace.ts'
import { until } from './until.ts'

export interface Deliveries extends AsyncDisposable {
  /** Starts workflows, each for one event whose second attempt is due in a second. Resolves when all have ended. */
  run(workflows: number): Promise<void>
}

const NAMESPACE = 'default'
const IN_FLIGHT = 32
const DELAY_MS = 1_000
const DAY_MS = 86_400_000
const ENDS_WITHIN_MS = 300_000

/** The product's workers with attempts that succeed at once, so that nothing but Temporal is measured. */
export async function startDeliveries(address: string): Promise<Deliveries> {
  if (!Runtime._instance) Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] })
  const connection = lazyConnection(temporalAt(address))
  const client = new Client({ connection })
  await createSetUp(client)()
  const workflows = createWorkflows({ connection, namespace: NAMESPACE, scheduleMs: [0, DELAY_MS] })
  const stopping = new AbortController()
  const activities = createActivities({
    attemptOnce: async () => ({ state: 'acknowledged', outcome: 'acked', statusCode: 200 }),
    finishDispatches: async () => {},
    dropExpired: async () => [],
    replays: NO_REPLAYS,
    verifyDue: async () => ({ verified: 0, pending: 0 }),
    onError: console.error,
    stopping: stopping.signal,
  })
  const native = await NativeConnection.connect({ address })
  const workflowBundle = await bundleWorkflows()
  const parts = { connection: native, namespace: NAMESPACE, workflowBundle, activities, stopping: stopping.signal }
  const working = runWorkers(parts)

  async function startOne(): Promise<void> {
    const id = newId(Date.now())
    await workflows.start({
      workflowId: `webhook-${id}`,
      kind: 'original',
      dispatches: [{ id, eventId: id, messageId: id, deadlineMs: Date.now() + DAY_MS }],
      accountId: id,
      endpointId: id,
      endpointHost: 'hooks.example.com',
      attempt: 2,
      dueMs: Date.now() + DELAY_MS,
    })
  }

  async function countEnded(): Promise<number> {
    const query = "WorkflowType = 'deliverWebhooks' and ExecutionStatus = 'Completed'"
    return (await client.workflow.count(query)).count
  }

  return {
    async run(count) {
      const before = await countEnded()
      let remaining = count
      const startInTurn = async () => {
        while (remaining-- > 0) await startOne()
      }
      await Promise.all(Array.from({ length: IN_FLIGHT }, startInTurn))
      await until('every workflow has ended', async () => (await countEnded()) - before === count, ENDS_WITHIN_MS)
    },
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await working
      await Promise.all([native.close(), connection.close()])
    },
  }
}
