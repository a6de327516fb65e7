import { createServiceImplSpec } from '@connectrpc/connect'
import { beforeEach, expect, test } from 'vitest'
import { ReplayService } from '../../../gen/verdict/admin/v1/replays_pb.ts'
import { createReplayService } from '../../../server/admin/replays.ts'
import { newId, publicId } from '../../../server/db/ids.ts'
import { createAccount } from '../../../server/directory/accounts.ts'
import { finishDispatches } from '../../../server/webhooks/attempt/end.ts'
import { markHandedOver } from '../../../server/webhooks/queue/hand-over.ts'
import { testAccount } from '../../harness/account.ts'
import { startDashboard } from '../../harness/person.ts'
import { quietFor } from '../../harness/waits.ts'
import { newEvent, openDispatches, storeDispatches, storeEndpoints } from '../rows.ts'

// Attempts that do not wait for their time.

const retried: string[] = []
let retryNow: (workflowId: string, dispatchId: string) => Promise<void>
const person = async (accountId = world.accountId) => (await dashboard.person({ accountId })).client(ReplayService)
const world = await testAccount()
const service = createReplayService({
  ...world,
  workflows: { startReplay: async () => {}, retryNow: (...ids) => retryNow(...ids) },
  workflowLink: async () => ({}),
  deliveryViews: () => [],
  report: () => {},
})
const services = [createServiceImplSpec<typeof ReplayService>(ReplayService, service)]
const dashboard = await startDashboard({ ...world, services })
beforeEach(() => {
  retried.length = 0
  retryNow = async (workflowId, id) => void retried.push(`${workflowId} ${id}`)
})

async function waiting(state: Parameters<typeof storeDispatches>[2]) {
  const event = newEvent(world.accountId)
  await storeDispatches(world, [event], { attempt: 2, due: 60, ...state })
  return { event, dispatchId: publicId('dsp', event.id) }
}

test('a retry makes the workflow of a waiting dispatch start its next attempt now', async () => {
  const { event, dispatchId } = await waiting({ workflowId: 'webhook-1', handedOver: true })
  await (await person()).retryDispatch({ dispatchId })
  expect(retried).toEqual([`webhook-1 ${event.id}`])
})

test('a dispatch that no workflow has yet becomes due at once, for the hand-over', async () => {
  const { event, dispatchId } = await waiting({})
  await (await person()).retryDispatch({ dispatchId })
  expect(retried).toEqual([])
  expect(await openDispatches(world, [event])).toMatchObject([{ waits: false, attempt: 2 }])
})

test('a retry waits for a workflow that is being started', async () => {
  const { event, dispatchId } = await waiting({ workflowId: 'webhook-1' })
  const retry = (await person()).retryDispatch({ dispatchId })
  await quietFor(300)
  expect(retried).toEqual([])
  await markHandedOver(world.db, ['webhook-1'])
  await retry
  expect(retried).toEqual([`webhook-1 ${event.id}`])
})

test('a workflow that does not start within five seconds is named as the cause', async () => {
  const { dispatchId } = await waiting({ workflowId: 'webhook-1' })
  const retry = (await person()).retryDispatch({ dispatchId })
  await expect(retry).rejects.toThrow(
    '[unavailable] The workflow of the dispatch has not started: Temporal or the worker',
  )
  expect(retried).toEqual([])
}, 15_000)

test('an attempt that is running is not made a second time', async () => {
  const running = [
    await waiting({ workflowId: 'webhook-1', handedOver: true, started: true }),
    await waiting({ attempt: 1, lease: 20 }),
  ]
  for (const { dispatchId } of running) {
    const retry = (await person()).retryDispatch({ dispatchId })
    await expect(retry).rejects.toThrow('[failed_precondition] An attempt of the dispatch is running now.')
  }
  expect(retried).toEqual([])
})

test('a dispatch that has ended says how, and what to do instead', async () => {
  for (const state of ['exhausted', 'cancelled'] as const) {
    const { event, dispatchId } = await waiting({})
    await storeEndpoints(world, [event])
    await finishDispatches(world.db, [event.id], state)
    const retry = (await person()).retryDispatch({ dispatchId })
    await expect(retry).rejects.toThrow(
      `[failed_precondition] The dispatch has ended: it is ${state}. Replay its event`,
    )
  }
})

test('a dispatch of another account does not exist', async () => {
  const { dispatchId } = await waiting({ workflowId: 'webhook-1' })
  const other = await person((await createAccount(world.db, world.clock, 'Stranger')).id)
  for (const id of [dispatchId, publicId('dsp', newId(world.clock.now())), 'dsp_x', '']) {
    const retry = other.retryDispatch({ dispatchId: id })
    await expect(retry).rejects.toThrow(`[not_found] There is no dispatch ${JSON.stringify(id)} in this account.`)
  }
  expect(retried).toEqual([])
})

test('when Temporal is away, the call says that nothing changed', async () => {
  const { dispatchId } = await waiting({ workflowId: 'webhook-1', handedOver: true })
  retryNow = () => Promise.reject(new Error('14 UNAVAILABLE'))
  const retry = (await person()).retryDispatch({ dispatchId })
  await expect(retry).rejects.toThrow('[unavailable] Temporal could not be reached. The next attempt stays as planned')
})
