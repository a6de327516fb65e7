import { randomBytes } from 'node:crypto'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { createServiceImplSpec } from '@connectrpc/connect'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { freePort } from '../../../dev/ports.ts'
import { type Replay, ReplayService, ReplayState } from '../../../gen/verdict/admin/v1/replays_pb.ts'
import { createReplayService } from '../../../server/admin/replays.ts'
import { createSealer } from '../../../server/db/encryption.ts'
import { newId, publicId } from '../../../server/db/ids.ts'
import { run } from '../../../server/db/statement.ts'
import { type EndpointWithSecret, putFirst } from '../../../server/webhooks/endpoints/change-endpoints.ts'
import { createWorkflows } from '../../../workflows/client.ts'
import { lazyConnection } from '../../../workflows/connection.ts'
import { type TestAccount, testAccount } from '../../harness/account.ts'
import { startDashboard } from '../../harness/person.ts'
import { type RunningProcess, startProgram, waitForOutput } from '../../harness/process.ts'
import { type Receiver, startReceiver } from '../../harness/receiver.ts'
import { startTemporal, type TestTemporal } from '../../harness/temporal.ts'
import { untilEnd } from '../../harness/until-end.ts'
import { temporalAt, until } from '../../workflows/world.ts'
import { newEvent, stateOf, storeDispatches } from '../rows.ts'

// Replays of many events from the dashboard's call to the receiver, with `npm run worker` as a separate process.

let world: TestAccount
let receiver: Receiver
let port: number
let temporal: TestTemporal
let worker: RunningProcess
let connection: ReturnType<typeof lazyConnection>
let endpointId: string
let dashboard: Awaited<ReturnType<typeof startDashboard>>
let replays: ReturnType<typeof connect>
const connect = (person: Awaited<ReturnType<typeof dashboard.person>>) => person.client(ReplayService)
const key = randomBytes(32)

const startWorker = () =>
  startProgram(process.execPath, ['workflows/worker.ts'], {
    DATABASE_URL: world.url,
    ENCRYPTION_KEYS: `k1:${key.toString('base64')}`,
    TEMPORAL_ADDRESS: `127.0.0.1:${port}`,
    WEBHOOK_ALLOW_SUBNETS: '127.0.0.0/8',
    WEBHOOK_SCHEDULE: '0,60s,60s',
  })

beforeAll(async () => {
  ;[world, receiver, port] = await Promise.all([testAccount(), startReceiver().then(untilEnd), freePort()])
  temporal = await startTemporal({ port })
  connection = untilEnd(lazyConnection(temporalAt(temporal.address)))
  const workflows = createWorkflows({ connection, namespace: 'default', scheduleMs: [0, 60_000, 60_000] })
  const service = createReplayService({
    ...world,
    workflows,
    workflowLink: async () => ({}),
    deliveryViews: () => [],
    report: () => {},
  })
  const services = [createServiceImplSpec<typeof ReplayService>(ReplayService, service)]
  dashboard = await startDashboard({ ...world, services })
  replays = connect(await dashboard.person({ accountId: world.accountId }))
  const sealer = createSealer([{ id: 'k1', key }])
  const put = (await putFirst({ db: world.db, sealer }, world.accountId, { url: receiver.url })) as EndpointWithSecret
  endpointId = put.endpoint.id
  worker = startWorker()
  await waitForOutput(worker, /"msg":"ready"/)
})
afterAll(async () => {
  await worker?.kill('SIGKILL')
  await temporal?.stop()
})
beforeEach(async () => {
  receiver.script = {}
  receiver.requests.length = 0
  await run(world.db, 'delete from open_dispatches')
  for (const table of ['dispatches', 'attempts', 'events', 'recipients']) await run(world.db, `truncate ${table}`)
})

/** Stores events that are a minute old and were never dispatched. A lease keeps the worker from them meanwhile. */
async function store(count: number): Promise<string[]> {
  const firstMs = Math.floor(world.clock.now()) - 60_000
  const rows = Array.from({ length: count }, (_, i) => {
    return newEvent(world.accountId, { id: newId(firstMs + i), createdAtMs: firstMs + i })
  })
  await storeDispatches(world, rows, { lease: 3_600 })
  await run(world.db, 'delete from open_dispatches')
  return rows.map(({ id }) => publicId('evt', id))
}

/** A range that ends before the last seconds is dispatched without waiting. */
const ago = (seconds: number) => timestampFromMs(Math.floor(world.clock.now()) - seconds * 1_000)
const shown = async (replay?: Replay) => (await replays.getReplay({ replayId: replay!.replayId })).replay!
const received = () => receiver.requests.map(({ headers }) => String(headers['service-event-id']))

/** Waits until every dispatch of a finished replay is acknowledged. Expects one for each event. */
async function expectAll(replay: Replay | undefined, eventIds: string[]) {
  await until(async () => (await shown(replay)).acknowledged >= eventIds.length)
  await until(async () => (await shown(replay)).state === ReplayState.FINISHED)
  const rows = await run<{ id: string }>(
    world.db,
    `select event_id as id from dispatches where kind = 'replay' order by id`,
  )
  expect(rows.map(({ id }) => publicId('evt', id))).toEqual(eventIds)
  expect(new Set(received())).toEqual(new Set(eventIds))
  expect(await shown(replay)).toMatchObject({
    ...{ state: ReplayState.FINISHED, total: eventIds.length, dispatched: eventIds.length },
    acknowledged: eventIds.length,
  })
}

test('every event of a range arrives once, at the pace of the replay', async () => {
  const eventIds = await store(120)
  const { replay } = await replays.startReplay({ filter: { to: ago(30) }, perSecond: 60 })
  await expectAll(replay, eventIds)
  expect(received()).toHaveLength(120)
  // How fast a worker that just starts makes the attempts is another matter.
  const [created] = await run<{ withinMs: number }>(
    world.db,
    `select (extract(epoch from max(created_at) - min(created_at)) * 1000)::float8 as "withinMs" from dispatches
      where kind = 'replay'`,
  )
  expect(created!.withinMs).toBeGreaterThanOrEqual(1_000)
})

test('a worker that is killed in the middle leaves out no event, and dispatches none twice', async () => {
  const eventIds = await store(150)
  const { replay } = await replays.startReplay({ filter: { to: ago(30) }, perSecond: 30 })
  for (const dispatched of [40, 100]) {
    await until(async () => (await shown(replay)).dispatched >= dispatched)
    await worker.kill('SIGKILL')
    worker = startWorker()
  }
  await expectAll(replay, eventIds)
})

test('a replay goes on after Temporal has come back with an empty store', async () => {
  const eventIds = await store(60)
  const { replay } = await replays.startReplay({ filter: { to: ago(30) }, perSecond: 4 })
  await until(async () => (await shown(replay)).dispatched >= 8)
  await temporal.stop()
  temporal = await startTemporal({ port })
  expect((await shown(replay)).dispatched).toBeLessThan(60)
  // What was dispatched before has lost its workflows, which the hand-over replaces when they are overdue.
  await until(async () => (await shown(replay)).dispatched === 60)
  const rows = await run<{ id: string }>(
    world.db,
    `select event_id as id from (select id, event_id from open_dispatches union all
      select id, event_id from dispatches where kind = 'replay') as d order by id`,
  )
  expect(rows.map(({ id }) => publicId('evt', id))).toEqual(eventIds)
  // While it runs, it also takes the events of the next test.
  await until(async () => (await shown(replay)).state === ReplayState.FINISHED)
})

test('a cancelled replay stops, and its dispatched events still arrive', async () => {
  const eventIds = await store(200)
  const { replay } = await replays.startReplay({ filter: { to: ago(30) }, perSecond: 20 })
  await until(async () => (await shown(replay)).dispatched >= 20)
  const { dispatched } = (await replays.cancelReplay({ replayId: replay!.replayId })).replay!
  expect(dispatched).toBeLessThan(200)
  await until(async () => (await shown(replay)).acknowledged === dispatched)
  expect(await shown(replay)).toMatchObject({ state: ReplayState.CANCELLED, dispatched })
  // Attempts of the replay before may still arrive.
  const arrived = received().filter((id) => eventIds.includes(id))
  expect(new Set(arrived)).toEqual(new Set(eventIds.slice(0, dispatched)))
  const workflowId = `replay-${replay!.replayId}`
  const { closed } = createWorkflows({ connection, namespace: 'default', scheduleMs: [0] })
  await until(async () => (await closed([workflowId])).length === 1)
})

test('the next attempt of a waiting dispatch is made when a person asks for it', async () => {
  receiver.script = { status: 503 }
  const event = newEvent(world.accountId, { endpointId })
  await storeDispatches(world, [event])
  await until(() => receiver.requests.length === 1)
  const dispatchId = publicId('dsp', event.id)
  receiver.script = { status: 200 }
  await until(async () =>
    replays.retryDispatch({ dispatchId }).then(
      () => true,
      () => false,
    ),
  )
  await until(async () => (await stateOf(world, event)) === 'acknowledged', 20_000)
  expect(receiver.requests).toHaveLength(2)
  await expect(replays.retryDispatch({ dispatchId })).rejects.toThrow('The dispatch has ended: it is acknowledged.')
})
