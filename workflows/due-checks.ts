import { type ConnectionLike, WorkflowClient } from '@temporalio/client'
import { TASK_QUEUES } from './client.ts'
import { CALL_MS } from './connection.ts'
import type { verification } from './verification.ts'
import { WORKFLOW_TASK_MS } from './worker-limits.ts'

/**
 * Starts a check of domains when one is due, unless a check runs: without a due domain nothing appears in Temporal's
 * list of workflows.
 */
export function createStartDueChecks(isDue: () => Promise<boolean>, connection: ConnectionLike, namespace: string) {
  const client = new WorkflowClient({ connection, namespace })
  const start = () =>
    client.start<typeof verification>('verification', {
      workflowId: 'verification',
      taskQueue: TASK_QUEUES.original,
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowTaskTimeout: WORKFLOW_TASK_MS,
      staticSummary: 'Checks the DNS records of the domains that are due',
    })

  return async (): Promise<void> => {
    if (await isDue()) await connection.withDeadline(Date.now() + CALL_MS, start)
  }
}
