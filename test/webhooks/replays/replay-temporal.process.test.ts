import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { finishDispatches } from '../../../server/webhooks/attempt/end.ts'
import { createActivities } from '../../../workflows/activities.ts'
import { createWorkflows } from '../../../workflows/client.ts'
import { lazyConnection } from '../../../workflows/connection.ts'
import { bundleWorkflows, runWorkers } from '../../../workflows/run-workers.ts'
import { startReceiver } from '../../harness/receiver.ts'
import { startTemporal } from '../../harness/temporal.ts'
import { quietFor } from '../../harness/waits.ts'
import { startApi } from '../../services/api.ts'
import { NO_REPLAYS } from '../../workflows/world.ts'

// Replays from the call to the receiver, through the API, a real Temporal, its workers and the database.

const SCHEDULE_MS = [0, 100, 60_000]

const [temporal, api, receiver] = await Promise.all([startTemporal(), startApi(), startReceiver()])
Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] })
const { address } = temporal
const connection = lazyConnection({ address, namespace: 'default', apiKey: undefined, tls: undefined })
const native = await NativeConnection.connect({ address })
const workflows = createWorkflows({ connection, namespace: 'default', scheduleMs: SCHEDULE_MS })
Object.assign(api.workflows, workflows)
const stopping = new AbortController()
const activities = createActivities({
  attemptOnce: api.attemptOnce,
  finishDispatches: (ids, state) => finishDispatches(api.world.db, ids, state),
  dropExpired: async () => [],
  replays: NO_REPLAYS,
  verifyDue: async () => ({}),
  onError: (error) => api.errors.push(String(error)),
  stopping: stopping.signal,
})
const workflowBundle = await bundleWorkflows()
const parts = { connection: native, namespace: 'default', workflowBundle, activities, stopping: stopping.signal }
const working = runWorkers(parts)
const close = async () => {
  stopping.abort()
  await working
  await Promise.all([native.close(), connection.close()])
}
afterAll(async () => {
  await close()
  await receiver.close()
  await api.stop()
  await temporal.stop()
})
beforeEach(async () => {
  await api.call('PUT', '/api/v1/webhook', { body: { url: receiver.url } })
})
afterEach(() => {
  receiver.script = {}
  receiver.requests.length = 0
})

async function sent(change: object = {}, headers?: Record<string, string>) {
  const { message_id } = (await api.send(change, headers)).json
  const { events } = (await api.call('GET', `/api/v1/emails/${message_id}`)).json
  return { message_id, event_ids: events.map((event: { event_id: string }) => event.event_id) as string[] }
}

const replay = (id: string) => api.call('POST', `/api/v1/${id.startsWith('evt') ? 'events' : 'messages'}/${id}/replay`)
const dispatchesOf = async (eventId: string) => (await api.call('GET', `/api/v1/events/${eventId}`)).json.dispatches
const replayedTo = (eventId: string, expected: object) =>
  expect
    .poll(async () => (await dispatchesOf(eventId)).filter(({ kind }: { kind: string }) => kind === 'replay'))
    .toMatchObject([expected])
const bodies = () => receiver.requests.map(({ body }) => JSON.parse(body.toString()))

test('a replayed event is posted, and its dispatch is acknowledged', async () => {
  const { event_ids, message_id } = await sent({ to: 'mailbox_full@simulator.test' })
  const { json } = await replay(event_ids[0]!)
  await replayedTo(event_ids[0]!, {
    dispatch_id: json.dispatch_id,
    state: 'acknowledged',
    attempts: [{ number: 1, outcome: 'acked', status_code: 200 }],
  })
  expect(bodies()).toMatchObject([
    { event: 'email.delivery', event_id: event_ids[0], message_id, status: 'bounced', reason: 'mailbox_full' },
  ])
  expect(receiver.requests[0]!.headers).toMatchObject({ 'service-dispatch-id': json.dispatch_id })
})

test('every event of a message is posted, and two replays of it have the same bytes', async () => {
  const to = ['a', 'b', 'c'].map((label) => `delivered+${label}@simulator.test`)
  const { event_ids, message_id } = await sent({ to })
  for (const posts of [3, 6]) {
    expect((await replay(message_id)).json.count).toBe(3)
    await expect.poll(() => receiver.requests.length).toBe(posts)
  }
  const texts = receiver.requests.map(({ body }) => body.toString()).toSorted()
  expect(texts.filter((_, i) => i % 2 === 0)).toEqual(texts.filter((_, i) => i % 2 === 1))
  expect(new Set(bodies().map(({ event_id }) => event_id))).toEqual(new Set(event_ids))
})

test('a dry run says so in the payload of its replay', async () => {
  const { event_ids } = await sent({}, { 'x-service-sandbox': 'true' })
  await replay(event_ids[0]!)
  await expect.poll(bodies).toMatchObject([{ event_id: event_ids[0], sandbox: true }])
})

test('a failed replay is retried by its schedule, at the endpoint that is current then', async () => {
  const { event_ids } = await sent()
  const other = await startReceiver()
  receiver.script = async () => {
    await api.call('PUT', '/api/v1/webhook', { body: { url: other.url } })
    return { status: 503 }
  }
  await replay(event_ids[0]!)
  await replayedTo(event_ids[0]!, {
    state: 'acknowledged',
    attempts: [
      { number: 1, status_code: 503 },
      { number: 2, status_code: 200 },
    ],
  })
  expect([receiver.requests.length, other.requests.length]).toEqual([1, 1])
  await other.close()
})

test('the workflow of a replay ends when the endpoint is deleted', async () => {
  const { event_ids } = await sent()
  receiver.script = { status: 500 }
  const { dispatch_id } = (await replay(event_ids[0]!)).json
  await replayedTo(event_ids[0]!, { state: 'waiting', attempts: [{ number: 1 }, { number: 2 }] })
  await api.call('DELETE', '/api/v1/webhook')
  await replayedTo(event_ids[0]!, { state: 'cancelled' })
  const id = `replay-${dispatch_id}`
  await expect.poll(() => workflows.closed([id])).toEqual([id])
  expect(receiver.requests).toHaveLength(2)
})

test('a refused replay posts nothing, even if a silent Temporal took it after all', async () => {
  const { event_ids } = await sent()
  await temporal.pause()
  const { status, json } = await replay(event_ids[0]!)
  temporal.resume()
  expect([status, json.message]).toEqual([
    500,
    'The replay could not be started in Temporal. Nothing was dispatched; it is safe to retry.',
  ])
  expect((await dispatchesOf(event_ids[0]!)).length).toBe(1)
  await quietFor(1_500)
  expect(receiver.requests).toEqual([])

  await expect.poll(async () => (await replay(event_ids[0]!)).status).toBe(200)
  await replayedTo(event_ids[0]!, { state: 'acknowledged' })
})
