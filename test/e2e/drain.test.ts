import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { startExchanger } from '../harness/exchanger.ts'
import { startInstance } from './instance.ts'

test('SIGTERM: every accepted request is answered, nothing is cut after the dot, and the process ends by itself', async () => {
  const exchanger = await startExchanger({ dot: { after: 1_000, act: '250 2.0.0 queued' } })
  const instance = await startInstance({ SMTP_ROUTES: `slow.test=127.0.0.1:${exchanger.port}` })
  onTestFinished(async () => {
    await instance.stop()
    await exchanger.close()
  })
  const sends = Array.from({ length: 20 }, () => instance.send({ to: 'ann@slow.test' }))
  await sleep(500)
  const ended = instance.api.kill('SIGTERM')
  const answers = await Promise.all(sends.map(async (send) => (await send).json()))
  expect(answers.map((answer) => (answer as { status: string }).status)).toEqual(answers.map(() => 'delivered'))
  expect(await ended).toBe(0)
  expect(exchanger.messages).toHaveLength(20)
})

test('readyz is false within 5 s of a fault of the database and true within 5 s of its end', async () => {
  const instance = await startInstance()
  onTestFinished(() => instance.stop())
  const { db } = instance.database
  const status = async () => (await instance.get('/readyz')).status
  expect(await status()).toBe(200)
  await db.$client`alter table heartbeat rename to heartbeat_away`
  await expect.poll(status).toBe(503)
  await db.$client`alter table heartbeat_away rename to heartbeat`
  await expect.poll(status).toBe(200)
})

test('revoking a key bites within 5 s', async () => {
  const instance = await startInstance()
  onTestFinished(() => instance.stop())
  expect((await instance.send()).status).toBe(200)
  await instance.database.db.$client`update api_keys set revoked_at = now() where id = ${instance.keyId}`
  await expect.poll(async () => (await instance.send()).status, { timeout: 5_000, interval: 200 }).toBe(401)
})
