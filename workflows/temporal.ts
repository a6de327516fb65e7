import type { Config } from '../server/config/config.ts'
import { fail } from '../server/errors.ts'
import { NO_TRACING, type Tracing } from '../server/telemetry/tracing.ts'
import type { DeliveryView, LinkWorkflow, ViewedDeliveries, Workflows } from '../server/webhooks/queue/workflows.ts'
import type { WorkerState } from './inspection.ts'
import { clientInterceptors } from './interceptors.ts'
import { MAX_GROUP } from './worker-limits.ts'

/** Temporal as the API uses it: the API starts replays there and links to its UI. */
export interface Temporal {
  workflows: Workflows
  health(): Promise<TemporalHealth>
  workflowLink: LinkWorkflow
  /** The views of deliveries in Temporal's UI; none when TEMPORAL_UI_URL is not set. */
  deliveryViews(deliveries: ViewedDeliveries): DeliveryView[]
  close(): Promise<void>
}

interface TemporalHealth {
  /** `degraded` while Temporal cannot be reached: replays are refused and retries wait; everything else works. */
  temporal: 'ok' | 'degraded'
  /** `none` while no worker polls: retries and replays wait. */
  worker: WorkerState
}

export const HEALTH_MS = 2_000

/** Loads Temporal's SDK only when it is needed: loading takes a fifth of the processor time of a start. */
export async function createTemporal(
  { temporal, temporalUiUrl, webhookSchedule }: Config,
  tracing: Tracing = NO_TRACING,
): Promise<Temporal> {
  if (temporal === undefined) return NO_TEMPORAL
  const [{ createWorkflows }, { lazyConnection }, { namespaceFault, workerState }, uiLinks] = await Promise.all([
    import('./client.ts'),
    import('./connection.ts'),
    import('./inspection.ts'),
    import('./ui-links.ts'),
  ])
  const { createRetention, createUiLinks } = uiLinks
  const { namespace } = temporal
  const interceptors = await clientInterceptors(tracing)
  const connection = lazyConnection(temporal)
  return {
    workflows: createWorkflows({ connection, namespace, scheduleMs: webhookSchedule, tracing, interceptors }),
    health: () =>
      connection.withDeadline(Date.now() + HEALTH_MS, async () => {
        const [fault, worker] = await Promise.all([
          namespaceFault(connection, namespace),
          workerState(connection, namespace),
        ])
        return { temporal: fault ? 'degraded' : 'ok', worker }
      }),
    ...createUiLinks({ uiUrl: temporalUiUrl, namespace, retentionMs: createRetention(connection, namespace) }),
    close: () => connection.close(),
  }
}

const isMissing = () =>
  Promise.reject(fail('transient_failure', 'There is no Temporal to start it with: TEMPORAL_ADDRESS is not set.'))

/** Only in development: production requires an address. */
const NO_TEMPORAL: Temporal = {
  workflows: {
    maxGroup: MAX_GROUP,
    start: isMissing,
    closed: isMissing,
    terminatedSince: isMissing,
    cancel: isMissing,
    retryNow: isMissing,
    startReplay: isMissing,
  },
  health: async () => ({ temporal: 'degraded', worker: 'unknown' }),
  workflowLink: async () => ({}),
  deliveryViews: () => [],
  close: async () => {},
}
