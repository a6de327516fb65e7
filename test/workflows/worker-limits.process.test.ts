import { NativeConnection, Worker } from '@temporalio/worker'
import { expect, inject, test } from 'vitest'
import { newId } from '../../server/db/ids.ts'
import type { Activities } from '../../workflows/activities.ts'
import { workerOptions } from '../../workflows/run-workers.ts'
import { ACTIVITY_SLOTS, WORKFLOW_TASK_MS } from '../../workflows/worker-limits.ts'
import { startTemporal } from '../harness/temporal.ts'
import { acked, createWorkflowWorld, quiet, until } from './world.ts'

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

test('an account with ten endpoints that hang leaves slots for the webhooks of others', async () => {
  const temporal = await startTemporal()
  const world = await createWorkflowWorld(temporal.address, inject('workflowBundle'))
  const hanging = Promise.withResolvers<typeof acked>()
  const accountId = newId(Date.now())
  const endpoints = Array.from({ length: 10 }, () => newId(Date.now()))
  const theirs = await Promise.all(
    Array.from({ length: ACTIVITY_SLOTS }, (_, i) =>
      world.deliver(() => hanging.promise, { accountId, endpointId: endpoints[i % 10]! }),
    ),
  )
  const posts = () => theirs.filter(({ calls }) => calls.length > 0).length
  await until(() => posts() >= ACTIVITY_SLOTS / 4)
  const other = await world.deliver(() => acked)
  await until(() => other.calls.length > 0, 30_000).finally(() => hanging.resolve(acked))
  expect(posts()).toBeLessThanOrEqual(ACTIVITY_SLOTS / 2)
  await world.close()
  await temporal.stop()
})
