import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openAccount } from '../harness/account.ts'
import { eventually } from '../harness/eventually.ts'
import { testDatabase } from '../harness/postgres.ts'
import { startApiProcess } from '../harness/process.ts'
import { startReceiver } from '../harness/receiver.ts'
import { temporaryFolder } from '../harness/until-end.ts'
import { within } from '../harness/waits.ts'

// The thread of first attempts, in a process of the API.

const database = await testDatabase()
const folder = temporaryFolder()

/** Every other thread than the main one says that it starts, and starts once `gate` exists. */
const HELD_THREADS = (gate: string) => `
import { existsSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
if (!isMainThread) {
  console.error('a thread starts')
  const never = new Int32Array(new SharedArrayBuffer(4))
  while (!existsSync(${JSON.stringify(gate)})) Atomics.wait(never, 0, 0, 20)
}`

/** Longer than the API needs for the rest of its start on an idle machine. */
const START_MS = 4_000

test('the API is ready only when its thread of first attempts is, so the first event after the start is posted', async () => {
  const [gate, preload] = [join(folder, 'gate'), join(folder, 'hold.mjs')]
  await writeFile(preload, HELD_THREADS(gate))
  const ENCRYPTION_KEYS = `k1:${randomBytes(32).toString('base64')}`
  const { key } = await openAccount(database.db, ENCRYPTION_KEYS, 'example.test')
  const receiver = await startReceiver()
  const starting = startApiProcess({
    DATABASE_URL: database.url,
    ENCRYPTION_KEYS,
    WEBHOOK_ALLOW_SUBNETS: '127.0.0.0/8',
    NODE_OPTIONS: `--import ${preload}`,
  })
  expect(
    await within(
      START_MS,
      starting.then(() => 'ready'),
      'held',
    ),
  ).toBe('held')
  await writeFile(gate, '')
  const api = await starting
  const call = (method: string, path: string, body: object) =>
    fetch(`${api.url}/api/v1/${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  expect((await call('PUT', 'webhook', { url: receiver.url })).status).toBe(200)
  const message = { from: 'a@example.test', to: 'delivered@simulator.test', subject: 'Hello', text: 'Hi' }
  expect((await call('POST', 'emails/send', message)).status).toBe(200)
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  await api.kill()
  await receiver.close()
})
