import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId, showId } from '../../server/db/ids.ts'
import type { Group, Workflows } from '../../server/webhooks/workflows.ts'
import { createWorkflows } from '../../workflows/client.ts'
import { lazyConnection } from '../../workflows/connection.ts'
import { stopwatch } from '../harness/stopwatch.ts'
import { startTemporal, type TestTemporal } from '../harness/temporal.ts'
import { serves, temporalAt, until } from './world.ts'

let temporal: TestTemporal
let connection: ReturnType<typeof lazyConnection>
let workflows: Workflows
beforeAll(async () => {
  temporal = await startTemporal()
  connection = lazyConnection(temporalAt(temporal.address))
  workflows = createWorkflows({ connection, namespace: 'default', scheduleMs: [0, 60_000] })
})
afterAll(async () => {
  await connection?.close()
  await temporal?.stop()
})

function newGroup(size = 1, kind: Group['kind'] = 'original'): Group {
  const dispatchIds = Array.from({ length: size }, () => newId(Date.now()))
  return {
    workflowId: `webhook-${showId('dsp', dispatchIds[0]!)}-2`,
    kind,
    dispatchIds,
    eventIds: dispatchIds,
    messageIds: dispatchIds,
    accountId: dispatchIds[0]!,
    previousResults: [],
    endpointHost: 'hooks.example.com',
    attempt: 2,
    dueMs: Date.now() + 60_000,
    deadlineMs: Date.now() + 86_400_000,
  }
}

const describe = (workflowId: string) =>
  connection.workflowService.describeWorkflowExecution({ namespace: 'default', execution: { workflowId } })

test('a group is started once, however often the start is called, also when it is over', async () => {
  const group = newGroup()
  await Promise.all([workflows.start(group), workflows.start(group), workflows.start(group)])
  const { workflowExecutionInfo } = await describe(group.workflowId)
  const execution = { workflowId: group.workflowId }
  await connection.workflowService.terminateWorkflowExecution({ namespace: 'default', workflowExecution: execution })
  await workflows.start(group)
  expect((await describe(group.workflowId)).workflowExecutionInfo!.execution).toEqual(workflowExecutionInfo!.execution)
})

test('fifty events of fifty messages fit into a workflow', async () => {
  const group = newGroup(50)
  await workflows.start(group)
  expect(await workflows.closed([group.workflowId])).toEqual([])
})

test('retries and replays have separate task queues', async () => {
  const [retry, replay] = [newGroup(), newGroup(1, 'replay')]
  await Promise.all([workflows.start(retry), workflows.start(replay)])
  const queueOf = async ({ workflowId }: Group) => (await describe(workflowId)).workflowExecutionInfo!.taskQueue
  expect([await queueOf(retry), await queueOf(replay)]).toEqual(['webhook-retries', 'webhook-replays'])
})

test('closed returns the ids of workflows that are over and of those that never existed', async () => {
  const [running, terminated] = [newGroup(), newGroup()]
  await Promise.all([workflows.start(running), workflows.start(terminated)])
  await connection.workflowService.terminateWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId: terminated.workflowId },
  })
  expect(await workflows.closed([running.workflowId, terminated.workflowId, 'webhook-never-2'])).toEqual([
    terminated.workflowId,
    'webhook-never-2',
  ])
})

test('cancelling a workflow that is over or never existed succeeds', async () => {
  await workflows.cancel('webhook-never-2')
})

test('a Temporal that is paused fails every call in five seconds, and serves again when it resumes', async () => {
  temporal.pause()
  const began = Date.now()
  const watch = stopwatch()
  const group = newGroup()
  const calls = await Promise.allSettled([
    workflows.start(group),
    workflows.closed([group.workflowId]),
    workflows.cancel(group.workflowId),
  ])
  expect(calls.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect(Date.now() - began).toBeGreaterThan(4_000)
  expect(watch.ms()).toBeLessThan(7_000)
  temporal.resume()
  await workflows.start(group)
})

test('a Temporal that is away fails every call in five seconds, and serves within six of its return', async () => {
  const { port } = temporal
  await temporal.stop()
  const away = stopwatch()
  await expect(workflows.start(newGroup())).rejects.toThrow()
  expect(away.ms()).toBeLessThan(7_000)
  temporal = await startTemporal({ port })
  const fresh = lazyConnection(temporalAt(temporal.address))
  await until(() => serves(fresh))
  await fresh.close()
  const back = stopwatch()
  await workflows.start(newGroup()).catch(() => workflows.start(newGroup()))
  expect(back.ms()).toBeLessThan(6_000)
})
