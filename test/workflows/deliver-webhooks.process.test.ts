import { WorkflowFailedError } from '@temporalio/client'
import { afterAll, expect, inject, test as inTurn } from 'vitest'
import { newId, publicId } from '../../server/db/ids.ts'
import { DELIVERY_STATUS, SEARCH_ATTRIBUTES } from '../../workflows/search-attributes.ts'
import { startTemporal } from '../harness/temporal.ts'
import { acked, createWorkflowWorld, type Delivery, http, until, waitsFor } from './world.ts'

// These tests wait for timers most of the time.
const test = inTurn.concurrent

const temporal = await startTemporal()
const world = await createWorkflowWorld(temporal.address, inject('workflowBundle'))
afterAll(async () => {
  await world.close()
  await temporal.stop()
})

const none = { acknowledged: 0, exhausted: 0, cancelled: 0, over: 0 }
const EXHAUSTED = { type: 'WebhookExhausted', category: 'BENIGN', nonRetryable: true }
/** A delay that is longer than any test. */
const LATER_MS = 3_600_000

test('every dispatch of the group is attempted, and an acknowledged dispatch leaves the group', async () => {
  const { handle, calls, ended } = await world.deliver(({ number, index }) => (index < number ? acked : http(503)), {
    dispatches: 3,
  })
  expect(await handle.result()).toEqual({ ...none, acknowledged: 3 })
  expect(calls.map(({ number, index }) => [number, index])).toEqual([
    [1, 0],
    [1, 1],
    [1, 2],
    [2, 1],
    [2, 2],
    [3, 2],
  ])
  expect(ended).toEqual({})
})

test('each delay counts from the previous failure, and a dispatch whose last attempt failed is exhausted', async () => {
  const { handle, calls, ended } = await world.deliver(() => http(500), { scheduleMs: [0, 200, 600, 400] })
  await expect(handle.result()).rejects.toMatchObject({ cause: { ...EXHAUSTED, details: [{ ...none, exhausted: 1 }] } })
  expect(calls.map(({ number, nextDelayMs }) => [number, nextDelayMs])).toEqual([
    [1, 200],
    [2, 600],
    [3, 400],
    [4, undefined],
  ])
  const waits = calls.slice(1).map(({ atMs }, index) => atMs - calls[index]!.atMs)
  for (const [index, delayMs] of [200, 600, 400].entries()) expect(waits[index]).toBeGreaterThanOrEqual(delayMs)
  const timers = await timersOf(handle)
  expect(timers).toHaveLength(3)
  for (const [index, delayMs] of [200, 600, 400].entries()) expect(timers[index]).toBeLessThanOrEqual(delayMs)
  expect(ended).toEqual({ 0: 'exhausted' })
})

test('a workflow begins with the attempt it is given, when that is due', async () => {
  const dueMs = Date.now() + 500
  const { handle, calls } = await world.deliver(() => acked, { attempt: 4, dueMs, scheduleMs: [0, 1, 1, 1, 1, 1] })
  expect(await handle.result()).toEqual({ ...none, acknowledged: 1 })
  expect(calls.map(({ number }) => number)).toEqual([4])
  expect(calls[0]!.atMs).toBeGreaterThanOrEqual(dueMs)
})

test('an attempt that would begin after the window is not made', async () => {
  const deadlineMs = Date.now() + LATER_MS / 2
  const { handle, calls, ended } = await world.deliver(() => http(503), {
    scheduleMs: [0, 100, LATER_MS, 100],
    each: [{ deadlineMs }],
  })
  await expect(handle.result()).rejects.toMatchObject({ cause: { ...EXHAUSTED, details: [{ ...none, exhausted: 1 }] } })
  expect(calls.map(({ number }) => number)).toEqual([1, 2])
  expect(ended).toEqual({ 0: 'exhausted' })
})

test('no attempt begins after the deadline, even when the worker starts late', async () => {
  const { handle, calls } = await world.deliver(() => acked, {
    dueMs: Date.now() - 2_000,
    each: [{ deadlineMs: Date.now() - 1_000 }],
  })
  await expect(handle.result()).rejects.toMatchObject({ cause: { ...EXHAUSTED, details: [{ ...none, exhausted: 1 }] } })
  expect(calls).toEqual([])
})

test('each dispatch of a group has its own deadline', async () => {
  const { handle, calls, ended } = await world.deliver(() => acked, {
    dispatches: 3,
    dueMs: Date.now() - 2_000,
    each: [LATER_MS, -1_000, LATER_MS].map((ms) => ({ deadlineMs: Date.now() + ms })),
  })
  const details = [{ ...none, acknowledged: 2, exhausted: 1 }]
  await expect(handle.result()).rejects.toMatchObject({ cause: { ...EXHAUSTED, details } })
  expect(calls.map(({ index }) => index).toSorted()).toEqual([0, 2])
  expect(ended).toEqual({ 1: 'exhausted' })
})

test('a dispatch that was over before its attempt is neither acknowledged nor exhausted', async () => {
  const { handle } = await world.deliver(() => ({ state: 'ended' }))
  expect(await handle.result()).toEqual({ ...none, over: 1 })
})

test('retryNow makes the next attempt of all dispatches early', async () => {
  const delivery = await world.deliver(({ number }) => (number === 2 ? acked : http(503)), {
    dispatches: 2,
    scheduleMs: [0, LATER_MS],
  })
  const { handle, calls } = delivery
  await waitsFor(delivery, 2)
  await handle.signal('retryNow')
  expect(await handle.result()).toEqual({ ...none, acknowledged: 2 })
  expect(calls.map(({ number, early }) => [number, early ?? false])).toEqual([
    [1, false],
    [1, false],
    [2, true],
    [2, true],
  ])
})

test('retryNow while an attempt is running makes the next one as soon as it fails', async () => {
  const posting = Promise.withResolvers<void>()
  const { handle, calls, publicIds } = await world.deliver(
    async ({ number }) => {
      if (number > 1) return acked
      await posting.promise
      return http(503)
    },
    { dispatches: 2, scheduleMs: [0, LATER_MS] },
  )
  await until(() => calls.length === 2)
  await handle.signal('retryNow', [publicIds[1]])
  posting.resolve()
  await until(() => calls.length === 3)
  expect(calls[2]).toMatchObject({ index: 1, number: 2, early: true })
  await handle.signal('retryNow')
  expect(await handle.result()).toEqual({ ...none, acknowledged: 2 })
})

test('retryNow of some dispatches leaves the schedule of the others unchanged, and each goes on at its own step', async () => {
  const { handle, calls, publicIds } = await world.deliver(
    ({ index, number }) => (index === 0 || number === 3 ? acked : http(503)),
    {
      dispatches: 3,
      scheduleMs: [0, LATER_MS, LATER_MS],
      attempt: 2,
      dueMs: Date.now() + LATER_MS,
    },
  )
  await handle.signal('retryNow', [publicIds[1]])
  await until(() => calls.length === 1)
  const waits = async () => {
    const { rounds } = await handle.query<{ rounds: { attempt: number; dispatchIds: string[] }[] }>('state')
    return rounds.map(({ attempt, dispatchIds }) => [attempt, ...dispatchIds.map((id) => publicIds.indexOf(id))])
  }
  await until(async () => (await waits()).some(([attempt]) => attempt === 3))
  expect((await waits()).toSorted()).toEqual([
    [2, 0, 2],
    [3, 1],
  ])
  await handle.signal('retryNow')
  await until(async () => (await waits()).length === 1)
  await handle.signal('retryNow')
  expect(await handle.result()).toEqual({ ...none, acknowledged: 3 })
})

test('cancel ends all dispatches without a further attempt', async () => {
  const { handle, calls, ended } = await world.deliver(() => http(503), { dispatches: 2, scheduleMs: [0, LATER_MS] })
  await until(() => calls.length === 2)
  await handle.signal('cancel')
  expect(await handle.result()).toEqual({ ...none, cancelled: 2 })
  expect(calls).toHaveLength(2)
  expect(ended).toEqual({ 0: 'cancelled', 1: 'cancelled' })
})

test('cancel of some dispatches lets the others go on, also while an attempt is running', async () => {
  const posting = Promise.withResolvers<void>()
  const { handle, calls, publicIds, ended } = await world.deliver(
    async ({ number }) => {
      if (number > 1) return acked
      await posting.promise
      return http(503)
    },
    { dispatches: 2 },
  )
  await until(() => calls.length === 2)
  await handle.signal('cancel', [publicIds[0], 'dsp_01h00000000000000000000000'])
  posting.resolve()
  expect(await handle.result()).toEqual({ ...none, acknowledged: 1, cancelled: 1 })
  expect(ended).toEqual({ 0: 'cancelled' })
})

test('a signal that an operator types works, and a malformed one does nothing', async () => {
  const delivery = await world.deliver(({ number }) => (number === 2 ? acked : http(503)), {
    dispatches: 3,
    scheduleMs: [0, LATER_MS],
  })
  const { handle, publicIds, ended } = delivery
  await waitsFor(delivery, 2)
  for (const nonsense of [{}, 7, [null], [{ id: publicIds[0] }], '']) {
    await handle.signal('retryNow', nonsense)
    await handle.signal('cancel', nonsense)
  }
  await handle.signal('cancel', publicIds[0])
  await handle.signal('retryNow', publicIds[1])
  await handle.signal('retryNow', null)
  expect(await handle.result()).toEqual({ ...none, acknowledged: 2, cancelled: 1 })
  expect(ended).toEqual({ 0: 'cancelled' })
})

test('cancelling the workflow itself ends its dispatches too', async () => {
  const { handle, calls, ended } = await world.deliver(() => http(503), { scheduleMs: [0, LATER_MS] })
  await until(() => calls.length === 1)
  await handle.cancel()
  await expect(handle.result()).rejects.toThrow(WorkflowFailedError)
  const { status, typedSearchAttributes } = await handle.describe()
  expect([status.name, typedSearchAttributes.get(DELIVERY_STATUS)]).toEqual(['CANCELLED', 'cancelled'])
  expect(ended).toEqual({ 0: 'cancelled' })
})

test('a fault of the service uses up no attempt: the same attempt is repeated for those dispatches only that did not end', async () => {
  let isAway = true
  const { handle, calls } = await world.deliver(
    ({ index, number }) => {
      if (index === 1 && isAway) {
        isAway = false
        throw new Error('password=secret of ann@example.net is wrong')
      }
      // An attempt that was made before returns the result in its row.
      if (index === 0 && calls.filter((call) => call.index === 0).length > 1) return { state: 'ended' }
      return number === 1 ? acked : http(503)
    },
    { dispatches: 2 },
  )
  expect(await handle.result()).toEqual({ ...none, acknowledged: 1, over: 1 })
  expect(calls.map(({ number }) => number)).toEqual([1, 1, 1, 1])
  expect(String(world.faults)).toContain('is wrong')
})

test('a group that gets no slot, or is not due by the database, waits about five seconds, which is not an attempt', async () => {
  let looks = 0
  const { handle, calls } = await world.deliver(() => (looks++ === 0 ? { state: 'not_due' } : acked))
  expect(await handle.result()).toEqual({ ...none, acknowledged: 1 })
  expect(calls.map(({ number }) => number)).toEqual([1, 1])
  expect(calls[1]!.atMs - calls[0]!.atMs).toBeGreaterThanOrEqual(2_400)
  const [timer] = await timersOf(handle)
  expect(timer).toBeGreaterThanOrEqual(2_400)
  // Five seconds, plus or minus half.
  expect(timer).toBeLessThanOrEqual(7_500)
})

test('a long history continues as a new run, with all its state', async () => {
  const delivery = await world.deliver(({ number }) => (number === 2 ? acked : http(503)), {
    dispatches: 2,
    scheduleMs: [0, LATER_MS],
  })
  const { handle } = delivery
  await waitsFor(delivery, 2)
  const before = await handle.describe()
  // Signals that change nothing make the history long as well.
  await until(async () => {
    await Promise.all(Array.from({ length: 50 }, () => handle.signal('retryNow', ['dsp_01h00000000000000000000000'])))
    // The query returns after the signals: Temporal refuses a signal when too many of them wait for the workflow.
    await handle.query('state')
    return (await handle.describe()).runId !== before.runId
  })
  const after = await handle.describe()
  for (const key of SEARCH_ATTRIBUTES)
    expect(after.typedSearchAttributes.get(key)).toEqual(before.typedSearchAttributes.get(key))
  expect(await handle.query('state')).toMatchObject({ lastAnswer: 'HTTP 503', rounds: [{ attempt: 2 }] })
  await handle.signal('retryNow')
  expect(await handle.result()).toEqual({ ...none, acknowledged: 2 })
})

/**
 * The timers of a workflow's history, in milliseconds, as the workflow requested them: a busy machine may fire them
 * late.
 */
async function timersOf(handle: Delivery['handle']): Promise<number[]> {
  const { events } = await handle.fetchHistory()
  return (events ?? [])
    .flatMap(({ timerStartedEventAttributes: timer }) => timer?.startToFireTimeout ?? [])
    .map(({ seconds, nanos }) => Number(seconds) * 1_000 + (nanos ?? 0) / 1_000_000)
}

test('signals take the ids of events and messages too, and the details name an id that is unknown', async () => {
  const [eventIds, messageIds] = [[1, 2, 3].map(() => newId(Date.now())), [newId(Date.now()), newId(Date.now())]]
  const delivery = await world.deliver(({ number }) => (number === 1 ? http(503) : acked), {
    dispatches: 3,
    scheduleMs: [0, LATER_MS],
    each: eventIds.map((eventId, i) => ({ eventId, messageId: messageIds[i >> 1]! })),
  })
  await waitsFor(delivery, 2)
  await delivery.handle.signal('retryNow', [publicId('evt', eventIds[0]!), publicId('msg', newId(Date.now()))])
  await until(() => delivery.calls.length === 4)
  expect(delivery.calls.at(-1)).toMatchObject({ index: 0, number: 2 })
  await delivery.handle.signal('retryNow', publicId('msg', messageIds[1]!))
  await until(() => delivery.calls.length === 5)
  expect(delivery.calls.at(-1)).toMatchObject({ index: 2, number: 2 })
  await delivery.handle.signal('cancel', publicId('msg', messageIds[0]!))
  expect(await delivery.handle.result()).toEqual({ ...none, acknowledged: 2, cancelled: 1 })
  expect(delivery.ended).toEqual({ 1: 'cancelled' })
})

test('the details say unknown for a dispatch whose own response is unknown, whatever the others got', async () => {
  const delivery = await world.deliver(({ index }) => (index === 0 ? http(503) : { state: 'failed' }), {
    dispatches: 2,
    scheduleMs: [0, LATER_MS],
  })
  await waitsFor(delivery, 2)
  const { currentDetails } = await delivery.handle.query<{ currentDetails: string }>('__temporal_workflow_metadata')
  const rows = currentDetails.split('\n').filter((line) => line.includes('evt_'))
  expect(rows.map((row) => row.split(' | ')[1])).toEqual(['HTTP 503', 'unknown'])
})
