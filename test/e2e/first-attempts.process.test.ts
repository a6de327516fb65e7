import { expect, test } from 'vitest'
import { eq, sql } from '../../server/db/drizzle.ts'
import { attempts, openDispatches as openDispatchRows } from '../../server/db/schema.ts'
import { startReceiver } from '../harness/receiver.ts'
import { untilEnd } from '../harness/until-end.ts'
import { startInstance } from './instance.ts'

async function startWithReceiver() {
  const receiver = untilEnd(await startReceiver())
  const instance = await startInstance({ WEBHOOK_ALLOW_SUBNETS: '127.0.0.0/8' })
  const put = await instance.put('/api/v1/webhook', JSON.stringify({ url: receiver.url }))
  expect(put.status).toBe(200)
  const postedEvents = () => new Set(receiver.requests.map(({ headers }) => headers['service-event-id'])).size
  const { db } = instance.database
  const openDispatches = async () => {
    const isLeft = sql<boolean>`${openDispatchRows.leaseUntil} is null`
    return db.select({ isLeft, unknown: db.$count(attempts, eq(attempts.outcome, 'unknown')) }).from(openDispatchRows)
  }
  return { receiver, instance, postedEvents, openDispatches }
}

test('the process that stores an event posts it right after the commit', async () => {
  const { receiver, instance, postedEvents, openDispatches } = await startWithReceiver()
  await Promise.all(Array.from({ length: 100 }, () => instance.send()))
  await expect.poll(postedEvents).toBe(100)
  expect(receiver.requests).toHaveLength(100)
  await expect.poll(openDispatches).toEqual([])
})

test('after SIGTERM the outcomes of running attempts are stored, and all other attempts are left to Temporal at once', async () => {
  const { receiver, instance, postedEvents, openDispatches } = await startWithReceiver()
  // The thread of first attempts runs.
  await instance.send()
  await expect.poll(postedEvents).toBe(1)
  receiver.script = { delayMs: 500 }
  await Promise.all(Array.from({ length: 40 }, () => instance.send()))
  expect(await instance.api.kill('SIGTERM')).toBe(0)
  const unfinished = await openDispatches()
  expect(postedEvents()).toBeGreaterThanOrEqual(11)
  expect(postedEvents() + unfinished.length).toBe(41)
  expect(unfinished.every(({ isLeft, unknown }) => isLeft && unknown === 0)).toBe(true)
})
