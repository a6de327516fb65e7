import { afterAll, expect, test } from 'vitest'
import { newId, publicId } from '../../server/db/ids.ts'
import type { Group } from '../../server/webhooks/queue/workflows.ts'
import { createWorkflows } from '../../workflows/client.ts'
import { CALL_MS, lazyConnection } from '../../workflows/connection.ts'
import { MAX_GROUP } from '../../workflows/worker-limits.ts'
import { stopwatch } from '../harness/stopwatch.ts'
import { startTemporal, type TestTemporal } from '../harness/temporal.ts'
import { untilEnd } from '../harness/until-end.ts'
import { temporalAt, until } from './world.ts'

// The calls that the server makes to a real Temporal. No worker runs, so workflows start and wait.

/** A call ends within CALL_MS; the rest is for a busy machine. */
const CALL_AT_MOST_MS = CALL_MS + 2_000

let temporal: TestTemporal
temporal = await startTemporal()
const connection = untilEnd(lazyConnection(temporalAt(temporal.address)))
const workflows = createWorkflows({ connection, namespace: 'default', scheduleMs: [0, 60_000] })
afterAll(() => temporal?.stop())

function newGroup(size = 1, kind: Group['kind'] = 'original'): Group {
  // Any UUIDs will do, also the same ones for several kinds of ids.
  const ids = Array.from({ length: size }, () => newId(Date.now()))
  return {
    workflowId: `webhook-${publicId('dsp', ids[0]!)}-2`,
    kind,
    dispatches: ids.map((id) => ({ id, eventId: id, messageId: id, deadlineMs: Date.now() + 86_400_000 })),
    accountId: ids[0]!,
    endpointId: ids[0]!,
    endpointHost: 'hooks.example.com',
    attempt: 2,
    dueMs: Date.now() + 60_000,
  }
}

async function describe({ workflowId }: Group) {
  const request = { namespace: 'default', execution: { workflowId } }
  const { workflowExecutionInfo } = await connection.workflowService.describeWorkflowExecution(request)
  return workflowExecutionInfo!
}

const terminate = ({ workflowId }: Group) =>
  connection.workflowService.terminateWorkflowExecution({ namespace: 'default', workflowExecution: { workflowId } })

test('a group is started once, however often start is called, even after its workflow has ended', async () => {
  const group = newGroup()
  await Promise.all([workflows.start(group), workflows.start(group), workflows.start(group)])
  const { execution } = await describe(group)
  await terminate(group)
  await workflows.start(group)
  // A second start would have another run id.
  expect((await describe(group)).execution).toEqual(execution)
})

test('the ids of the largest group fit into the search attributes of its workflow', async () => {
  const group = newGroup(MAX_GROUP)
  await workflows.start(group)
  expect(await workflows.closed([group.workflowId])).toEqual([])
})

test('the workflows that a person terminated are found by one question, and those that run or ended by themselves are not', async () => {
  const [terminated, running] = [newGroup(), newGroup(1, 'replay')]
  const beganMs = Date.now()
  await Promise.all([workflows.start(terminated), workflows.start(running)])
  await terminate(terminated)
  await until(async () => (await workflows.terminatedSince(beganMs - 60_000)).includes(terminated.workflowId))
  expect(await workflows.terminatedSince(beganMs - 60_000)).not.toContain(running.workflowId)
  expect(await workflows.terminatedSince(Date.now() + 60_000)).toEqual([])
})

test('retries and replays have separate task queues', async () => {
  const [retry, replay] = [newGroup(), newGroup(1, 'replay')]
  await Promise.all([workflows.start(retry), workflows.start(replay)])
  expect((await describe(retry)).taskQueue).toBe('webhook-retries')
  expect((await describe(replay)).taskQueue).toBe('webhook-replays')
})

test('closed returns the ids of workflows that have ended or never existed', async () => {
  const [running, terminated] = [newGroup(), newGroup()]
  await Promise.all([workflows.start(running), workflows.start(terminated)])
  await terminate(terminated)
  expect(await workflows.closed([running.workflowId, terminated.workflowId, 'webhook-never-2'])).toEqual([
    terminated.workflowId,
    'webhook-never-2',
  ])
})

test('cancelling a workflow that has ended or never existed succeeds', async () => {
  const terminated = newGroup()
  await workflows.start(terminated)
  await terminate(terminated)
  await workflows.cancel(terminated.workflowId)
  await workflows.cancel('webhook-never-2')
})

test('while Temporal is silent every call fails after five seconds; when it responds again, calls succeed', async () => {
  await temporal.pause()
  const startedAtMs = performance.now()
  const watch = stopwatch()
  const group = newGroup()
  const calls = await Promise.allSettled([
    workflows.start(group),
    workflows.closed([group.workflowId]),
    workflows.cancel(group.workflowId),
  ])
  expect(calls.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect(performance.now() - startedAtMs).toBeGreaterThan(CALL_MS - 1_000)
  expect(watch.ms()).toBeLessThan(CALL_AT_MOST_MS)
  temporal.resume()
  await workflows.start(group)
})

test('while Temporal is stopped a call fails; when it runs again, the same connection succeeds', async () => {
  const { port } = temporal
  await temporal.stop()
  const stopped = stopwatch()
  await expect(workflows.start(newGroup())).rejects.toThrow()
  expect(stopped.ms()).toBeLessThan(CALL_AT_MOST_MS)
  temporal = await startTemporal({ port })
  // Calls fail until the connection looks for the server again, which it does every few seconds.
  const started = () =>
    workflows.start(newGroup()).then(
      () => true,
      () => false,
    )
  await until(started, 30_000)
})

test('a workflow starts without the search attributes that the namespace lacks, and says which', async () => {
  const { operatorService } = connection
  await operatorService.removeSearchAttributes({
    namespace: 'default',
    searchAttributes: ['AttemptNumber', 'EventIds'],
  })
  const missing: string[][] = []
  const starting = createWorkflows({
    connection,
    namespace: 'default',
    scheduleMs: [0, 60_000],
    onMissingAttributes: (names) => void missing.push(names),
  })
  const groups = [newGroup(), newGroup()]
  for (const group of groups) await starting.start(group)
  expect(missing).toEqual([['AttemptNumber', 'EventIds']])
  for (const group of groups) {
    const { searchAttributes } = await describe(group)
    const names = Object.keys(searchAttributes!.indexedFields!)
    expect([names.includes('EndpointId'), names.includes('EventIds')]).toEqual([true, false])
  }
})
