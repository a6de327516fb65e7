import { NativeConnection, Worker } from '@temporalio/worker'
import { expect, inject, test } from 'vitest'
import type { Activities } from '../../workflows/activities.ts'
import { workerOptions } from '../../workflows/run-workers.ts'
import { WORKFLOW_TASK_MS } from '../../workflows/worker-limits.ts'
import { startTemporal } from '../harness/temporal.ts'
import { acked, createWorkflowWorld, quiet } from './world.ts'

test('workflow code has 30 s of real time for each task, in the SDK and in Temporal', async () => {
  quiet()
  const temporal = await startTemporal()
  const world = await createWorkflowWorld(temporal.address, inject('workflowBundle'))
  const { handle } = await world.deliver(() => acked)
  await handle.result()
  const { events } = await handle.fetchHistory()
  const { workflowTaskTimeout } = events![0]!.workflowExecutionStartedEventAttributes!
  expect(Number(workflowTaskTimeout!.seconds)).toBe(30)

  const connection = await NativeConnection.connect({ address: temporal.address })
  const parts = { connection, namespace: 'default', workflowBundle: inject('workflowBundle') }
  const worker = await Worker.create(workerOptions('a-queue', { ...parts, activities: {} as Activities }))
  expect(worker.options.isolateExecutionTimeoutMs).toBe(WORKFLOW_TASK_MS)
  await worker.runUntil(Promise.resolve())
  await connection.close()
  await world.close()
  await temporal.stop()
})
