import type { Config } from '../server/config/config.ts'
import { fail } from '../server/errors.ts'
import type { Workflows } from '../server/webhooks/workflows.ts'
import { createWorkflows } from './client.ts'
import { lazyConnection } from './connection.ts'

/** Temporal as the API sees it: it starts replays there, and tells where a person can look. */
export interface Temporal {
  workflows: Workflows
  /** `degraded` while it cannot be reached: replays are refused and retries wait; everything else works. */
  health(): Promise<'ok' | 'degraded'>
  /** Where its UI shows a workflow; undefined when nobody told where the UI is. */
  workflowUrl(workflowId: string): string | undefined
  close(): Promise<void>
}

const HEALTH_MS = 2_000

export function createTemporal({ temporal, temporalUiUrl, webhookSchedule }: Config): Temporal {
  if (temporal === undefined) return NO_TEMPORAL
  const { namespace } = temporal
  const connection = lazyConnection(temporal)
  return {
    workflows: createWorkflows({ connection, namespace, scheduleMs: webhookSchedule }),
    health: () =>
      connection
        .withDeadline(Date.now() + HEALTH_MS, () => connection.workflowService.describeNamespace({ namespace }))
        .then(
          () => 'ok',
          () => 'degraded',
        ),
    workflowUrl: (workflowId) => temporalUiUrl && `${temporalUiUrl}/namespaces/${namespace}/workflows/${workflowId}`,
    close: () => connection.close(),
  }
}

const isMissing = () =>
  Promise.reject(fail('transient_failure', 'There is no Temporal to start it with: TEMPORAL_ADDRESS is not set.'))

/** In development alone: production needs an address. */
const NO_TEMPORAL: Temporal = {
  workflows: { start: isMissing, closed: isMissing, cancel: isMissing },
  health: async () => 'degraded',
  workflowUrl: () => undefined,
  close: async () => {},
}
