import { isDeepStrictEqual } from 'node:util'
import { beforeEach, expect, inject, test } from 'vitest'
import { newId, publicId } from '../../server/db/ids.ts'
import type { ReplayStep } from '../../server/webhooks/replays/range-replays.ts'
import { createWorkflows } from '../../workflows/client.ts'
import type { ReplayProgress, replayRange } from '../../workflows/replay-range.ts'
import { ACCOUNT_ID } from '../../workflows/search-attributes.ts'
import { createUiLinks } from '../../workflows/ui-links.ts'
import { startTemporal } from '../harness/temporal.ts'
import { untilEnd } from '../harness/until-end.ts'
import { takes } from '../harness/waits.ts'
import { createWorkflowWorld, until } from './world.ts'

// The workflow of a replay of many events, on a real Temporal. Each test decides what the steps return.

let step: (n: number) => ReplayStep | Promise<ReplayStep>
let steps = 0
/** When each step began and ended, and how long the next one was to wait. */
let times: { beganMs: number; endedMs: number; waitMs: number }[] = []
let cancelled: string[] = []
const temporal = untilEnd(await startTemporal())
const world = untilEnd(
  await createWorkflowWorld(temporal.address, inject('workflowBundle'), {
    async dispatchNext() {
      const beganMs = performance.now()
      const made = await step(++steps)
      times.push({ beganMs, endedMs: performance.now(), waitMs: made.waitMs })
      return cancelled.length > 0 ? { ...made, state: 'cancelled' } : made
    },
    cancel: async (id) => void cancelled.push(id),
  }),
)
beforeEach(() => {
  steps = 0
  times = []
  cancelled = []
})

async function start(endpointId?: string) {
  const id = newId(Date.now())
  // Any UUID will do as the account's.
  const replay = { id, accountId: id, endpointId, total: 300 }
  const workflows = createWorkflows({ connection: world.connection, namespace: 'default', scheduleMs: [0] })
  await workflows.startReplay(replay)
  const handle = world.client.getHandle<typeof replayRange>(`replay-${publicId('rpl', id)}`)
  return { id, handle, again: () => workflows.startReplay(replay) }
}

const running = (dispatched: number, waitMs: number): ReplayStep => ({
  state: 'running',
  dispatched,
  total: 300,
  waitMs,
})
const finished: ReplayStep = { state: 'finished', dispatched: 300, total: 300, waitMs: 0 }

/** The steps that began before the end of the wait of the one before. */
const hurried = () => times.filter(({ beganMs }, i) => i > 0 && beganMs < times[i - 1]!.endedMs + times[i - 1]!.waitMs)

test('each step waits after the one before, however slow that was, until the replay has finished', async () => {
  step = async (n) => {
    await takes(n === 1 ? 600 : 0)
    return n < 4 ? running(n * 100, 400) : finished
  }
  const { handle } = await start()
  expect(await handle.result()).toEqual({ state: 'finished', dispatched: 300, total: 300 })
  expect(times.map(({ waitMs }) => waitMs)).toEqual([400, 400, 400, 0])
  expect(hurried()).toEqual([])
})

test('a replay of many steps continues as a new run, where it was and at the same pace', async () => {
  const started = Promise.withResolvers<Awaited<ReturnType<typeof start>>>()
  step = async (n) => {
    const { historyLength } = await (await started.promise).handle.describe()
    return n < 120 ? running(n, historyLength > 450 ? 100 : 0) : finished
  }
  started.resolve(await start())
  const { id, handle } = await started.promise
  const { runId } = await handle.describe()
  expect(await handle.result()).toMatchObject({ state: 'finished' })
  expect(steps).toBe(120)
  const last = await handle.describe()
  expect(last.runId).not.toBe(runId)
  expect(last.typedSearchAttributes.get(ACCOUNT_ID)).toBe(publicId('acc', id))
  expect(times.some(({ waitMs }) => waitMs > 0)).toBe(true)
  expect(hurried()).toEqual([])
})

test('the view "Replays" of its account shows a replay, and that of an endpoint one to this endpoint alone', async () => {
  step = () => running(100, 60_000)
  const endpointId = newId(Date.now())
  const [toAll, toOne] = [await start(), await start(endpointId)]
  const { deliveryViews } = createUiLinks({ uiUrl: 'http://ui', namespace: 'default', retentionMs: async () => 0 })
  const shown = async (accountId: string, endpoint?: string) => {
    const { url } = deliveryViews({ accountId, endpointId: endpoint }).find(({ title }) => title === 'Replays')!
    const ids: string[] = []
    const query = new URL(url).searchParams.get('query')!
    for await (const { workflowId } of world.client.list({ query })) ids.push(workflowId)
    return ids
  }
  for (const { id, handle } of [toAll, toOne])
    await until(async () => isDeepStrictEqual(await shown(id), [handle.workflowId]))
  expect(await shown(toAll.id, endpointId)).toEqual([toOne.handle.workflowId])
  for (const { handle } of [toAll, toOne]) await handle.terminate()
})

test('its progress can be queried, and stands in the details of the workflow', async () => {
  step = (n) => running(n * 100, 60_000)
  const { handle } = await start()
  await until(async () => (await handle.query<ReplayProgress | undefined>('progress'))?.dispatched === 100)
  expect(await handle.query('progress')).toEqual({ state: 'running', dispatched: 100, total: 300 })
  const details = 'Dispatched 100 of 300 events. The replay is running.'
  await until(async () => JSON.stringify(await handle.query('__temporal_workflow_metadata')).includes(details))
  await handle.terminate()
})

test('the signal `cancel` ends a replay at once', async () => {
  step = () => running(100, 60_000)
  const { id, handle } = await start()
  await until(() => steps === 1)
  await handle.signal('cancel')
  expect(await handle.result()).toMatchObject({ state: 'cancelled', dispatched: 100 })
  expect(cancelled).toEqual([id])
})

test('cancelling the workflow cancels the replay', async () => {
  step = () => running(100, 60_000)
  const { id, handle } = await start()
  await until(() => steps === 1)
  await handle.cancel()
  await expect(handle.result()).rejects.toThrow()
  expect((await handle.describe()).status.name).toBe('CANCELLED')
  expect(cancelled).toEqual([id])
})

test('a workflow that runs is not started twice, and one that was terminated is replaced', async () => {
  step = () => running(100, 60_000)
  const { handle, again } = await start()
  const { runId } = await handle.describe()
  await again()
  expect((await handle.describe()).runId).toBe(runId)
  await handle.terminate()
  await again()
  expect((await handle.describe()).status.name).toBe('RUNNING')
  await handle.terminate()
})
