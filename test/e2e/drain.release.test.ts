import { once } from 'node:events'
import { get } from 'node:http'
import { expect, test } from 'vitest'
import { eq, sql } from '../../server/db/drizzle.ts'
import { apiKeys, messages, openMessages } from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { startExchanger } from '../harness/exchanger.ts'
import { untilEnd } from '../harness/until-end.ts'
import { letArrive, outlast, quietFor } from '../harness/waits.ts'
import { startInstance } from './instance.ts'

/** Starts an instance whose mail to `slow.test` is accepted `dotMs` after the final dot. */
async function startSlow(dotMs: number) {
  const exchanger = untilEnd(await startExchanger({ dot: { after: dotMs, act: '250 2.0.0 queued' } }))
  const instance = await startInstance({ SMTP_ROUTES: `slow.test=127.0.0.1:${exchanger.port}` })
  return { exchanger, instance }
}

const onNewConnection = async (url: string) => {
  const [response] = await once(get(url, { agent: false }), 'response')
  response.resume()
  return response.statusCode
}

const readiness = async (url: string) => (await fetch(`${url}/readyz`)).status

test('after SIGTERM every accepted request gets its response, no message is cut after the dot, and the process exits', async () => {
  const { exchanger, instance } = await startSlow(1_000)
  const sends = Array.from({ length: 20 }, () => instance.send({ to: 'ann@slow.test' }))
  const { db } = instance.database
  await expect.poll(async () => (await db.$count(messages)) + (await db.$count(openMessages))).toBe(20)
  const exit = instance.api.kill('SIGTERM')
  const results = await Promise.all(sends.map(async (send) => (await send).json()))
  expect(results.map((result) => (result as { status: string }).status)).toEqual(results.map(() => 'delivered'))
  expect(await exit).toBe(0)
  expect(exchanger.messages).toHaveLength(20)
})

test('after SIGTERM the API finishes and stores a send without a key whose caller left after the final dot', async () => {
  const { exchanger, instance } = await startSlow(3_000)
  const caller = new AbortController()
  const send = instance.send({ to: 'ann@slow.test' }, {}, caller.signal).catch(() => 'left')
  await expect.poll(() => exchanger.messages.length, { timeout: 10_000 }).toBe(1)
  caller.abort()
  expect(await send).toBe('left')
  expect(await instance.api.kill('SIGTERM')).toBe(0)
  const rows = await instance.database.db.select({ status: messages.status }).from(messages)
  expect(rows).toEqual([{ status: 'delivered' }])
})

test('SIGHUP does not stop the API', async () => {
  const instance = await startInstance()
  process.kill(instance.api.pid, 'SIGHUP')
  await quietFor(500)
  expect((await instance.send()).status).toBe(200)
  expect(await instance.api.kill('SIGTERM')).toBe(0)
})

test('a second signal ends the API at once, unless it comes within 500 ms of the first', async () => {
  const { exchanger, instance } = await startSlow(60_000)
  const send = instance.send({ to: 'ann@slow.test' }).catch(() => 'cut')
  await expect.poll(() => exchanger.messages.length, { timeout: 10_000 }).toBe(1)
  process.kill(instance.api.pid, 'SIGINT')
  await letArrive(50)
  process.kill(instance.api.pid, 'SIGINT')
  await outlast(1_000)
  expect(await Promise.race([instance.api.ended, 'draining'])).toBe('draining')
  expect(await instance.api.kill('SIGINT')).toBe(130)
  expect(await send).toBe('cut')
})

test('after SIGTERM /readyz responds with 503 at once, and new connections are served for DRAIN_GRACE_MS', async () => {
  const instance = await startInstance({ DRAIN_GRACE_MS: '12000' })
  const exit = instance.api.kill('SIGTERM')
  await expect.poll(() => readiness(instance.api.url), { timeout: 10_000, interval: 50 }).toBe(503)
  expect(await onNewConnection(`${instance.api.url}/healthz`)).toBe(200)
  expect((await instance.send()).status).toBe(200)
  expect(await exit).toBe(0)
  await expect(instance.send()).rejects.toThrow('fetch failed')
})

test('/readyz reports a database fault within 5 s of its start, and recovery within 5 s of its end', async () => {
  const instance = await startInstance()
  const { db } = instance.database
  const status = async () => (await instance.get('/readyz')).status
  expect(await status()).toBe(200)
  await run(db, 'alter table primary_heartbeat rename to heartbeat_away')
  await expect.poll(status).toBe(503)
  await run(db, 'alter table heartbeat_away rename to primary_heartbeat')
  await expect.poll(status).toBe(200)
})

test('a revoked key is refused within 5 s', async () => {
  const instance = await startInstance()
  expect((await instance.send()).status).toBe(200)
  await instance.database.db.update(apiKeys).set({ revokedAt: sql`now()` }).where(eq(apiKeys.id, instance.keyId))
  await expect.poll(async () => (await instance.send()).status, { timeout: 5_000, interval: 200 }).toBe(401)
})
