import { randomBytes } from 'node:crypto'
import { afterAll, expect, test } from 'vitest'
import { freePort } from '../../dev/ports.ts'
import { createDatabaseClock } from '../../server/db/clock.ts'
import { createSealer } from '../../server/db/encryption.ts'
import { createAccount } from '../../server/directory/accounts.ts'
import { type EndpointWithSecret, putFirst } from '../../server/webhooks/endpoints/change-endpoints.ts'
import { testDatabase } from '../harness/postgres.ts'
import { startProgram, waitForOutput } from '../harness/process.ts'
import { startReceiver } from '../harness/receiver.ts'
import { startTemporal, type TestTemporal } from '../harness/temporal.ts'
import { untilEnd } from '../harness/until-end.ts'
import { letRun, quietFor } from '../harness/waits.ts'
import { newEvent, stateOf, storeDispatches } from '../webhooks/rows.ts'
import { until } from './world.ts'

// `npm run worker` as a separate process.

let temporal: TestTemporal | undefined
const database = await testDatabase()
const receiver = untilEnd(await startReceiver())
const port = await freePort()
const key = randomBytes(32)
const env: NodeJS.ProcessEnv = {
  DATABASE_URL: database.url,
  ENCRYPTION_KEYS: `k1:${key.toString('base64')}`,
  TEMPORAL_ADDRESS: `127.0.0.1:${port}`,
  WEBHOOK_ALLOW_SUBNETS: '127.0.0.0/8',
  WEBHOOK_SCHEDULE: '0,100ms,100ms',
}
const clock = await createDatabaseClock(database.db)
const account = await createAccount(database.db, clock, 'Test')
clock.stop()
const accountId = account.id
const parts = { db: database.db, sealer: createSealer([{ id: 'k1', key }]) }
const put = (await putFirst(parts, accountId, { url: receiver.url })) as EndpointWithSecret
const endpointId = put.endpoint.id
const worker = startProgram(process.execPath, ['workflows/worker.ts'], env)
afterAll(async () => {
  await worker.kill('SIGKILL')
  await temporal?.stop()
})

async function anEventThatWaits() {
  const event = newEvent(accountId, { endpointId })
  await storeDispatches(database, [event])
  return event
}

const acknowledged = (event: ReturnType<typeof newEvent>) =>
  until(async () => (await stateOf(database, event)) === 'acknowledged')

const troubles = () =>
  worker
    .stdout()
    .split('\n')
    .filter((line) => line.includes('"Temporal: trouble, trying again"'))

test('a worker starts without Temporal, logs that once, and works as soon as Temporal is there', async () => {
  await waitForOutput(worker, /"msg":"ready"/)
  const event = await anEventThatWaits()
  await waitForOutput(worker, /"msg":"Temporal: trouble, trying again"/)
  await quietFor(3_000)
  expect(troubles()).toHaveLength(1)
  expect(await stateOf(database, event)).toBe('waiting')
  temporal = await startTemporal({ port })
  await acknowledged(event)
})

test('a worker continues with a Temporal that comes back with an empty store', async () => {
  await temporal!.stop()
  const event = await anEventThatWaits()
  await letRun(2_000)
  temporal = await startTemporal({ port })
  await acknowledged(event)
})

test('a worker continues with a Temporal that was paused', async () => {
  await temporal!.pause()
  const event = await anEventThatWaits()
  await letRun(8_000)
  temporal!.resume()
  await acknowledged(event)
})

test('SIGHUP does not stop a worker', async () => {
  process.kill(worker.pid, 'SIGHUP')
  await acknowledged(await anEventThatWaits())
})

test('after SIGTERM a worker ends when the POST in flight has ended and its outcome is stored', async () => {
  const posting = Promise.withResolvers<void>()
  receiver.script = async () => {
    posting.resolve()
    return { delayMs: 2_000 }
  }
  const event = await anEventThatWaits()
  await posting.promise
  expect(await worker.kill('SIGTERM')).toBe(0)
  expect(await stateOf(database, event)).toBe('acknowledged')
  expect(worker.stdout()).toContain('"msg":"drained"')
})

test('without TEMPORAL_ADDRESS a worker does not start, and says why', async () => {
  const { TEMPORAL_ADDRESS, ...without } = env
  const lost = startProgram(process.execPath, ['workflows/worker.ts'], without)
  expect(await lost.ended).toBe(1)
  expect(lost.stderr()).toContain('TEMPORAL_ADDRESS is not set')
})
