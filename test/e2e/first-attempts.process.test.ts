import { expect, onTestFinished, test } from 'vitest'
import { startReceiver } from '../harness/receiver.ts'
import { startInstance } from './instance.ts'

async function startBoth() {
  const receiver = await startReceiver()
  const instance = await startInstance({ WEBHOOK_ALLOW_SUBNETS: '127.0.0.0/8' })
  onTestFinished(async () => {
    await instance.stop()
    await receiver.close()
  })
  const put = await instance.put('/api/v1/webhook', JSON.stringify({ url: receiver.url }))
  expect(put.status).toBe(200)
  const posted = () => new Set(receiver.requests.map(({ headers }) => headers['service-event-id'])).size
  const open = () => instance.database.db.$client`
    select id, lease_until is null as is_left, (select count(*)::int from attempts where outcome = 'unknown') as unknown
    from open_dispatches`
  return { receiver, instance, posted, open }
}

test('each event is posted right after its commit, by the process that stored it', async () => {
  const { receiver, instance, posted, open } = await startBoth()
  await Promise.all(Array.from({ length: 100 }, () => instance.send()))
  await expect.poll(posted).toBe(100)
  expect(receiver.requests).toHaveLength(100)
  await expect.poll(open).toEqual([])
})

test('SIGTERM: what was begun is written down, and the rest is left to Temporal at once', async () => {
  const { receiver, instance, posted, open } = await startBoth()
  receiver.script = { delayMs: 500 }
  await Promise.all(Array.from({ length: 40 }, () => instance.send()))
  expect(await instance.api.kill('SIGTERM')).toBe(0)
  const left = await open()
  expect(posted()).toBeGreaterThanOrEqual(10)
  expect(posted() + left.length).toBe(40)
  expect(left.every(({ is_left, unknown }) => is_left && unknown === 0)).toBe(true)
})
