import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '../../server/db/ids.ts'
import type { DeliveryEvent } from '../../server/events/payload.ts'
import { createDispatcher, type DispatcherParts } from '../../server/webhooks/dispatcher.ts'
import { eventually } from '../harness/eventually.ts'
import { type TestDatabase, testDatabase } from '../harness/postgres.ts'
import { newEvent, openDispatches, storeDispatches } from './rows.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.drop())

const target = {
  accountId: newId(Date.now()),
  url: 'http://127.0.0.1/',
  secret: 'c2VhbGVk',
  previousSecret: null,
}

type Made = Awaited<ReturnType<DispatcherParts['deliverFirst']>>
const acked: Made = { posted: { outcome: 'acked', statusCode: 200, phases: {} }, ended: Promise.resolve() }
const refused: Made = { posted: { outcome: 'not_200', statusCode: 500, phases: {} }, ended: Promise.resolve() }

/** A dispatcher whose attempts the test makes, and what it sees of them. */
function dispatcherOver(attempt: (event: DeliveryEvent) => Promise<Made>) {
  const seen = {
    order: [] as DeliveryEvent[],
    inFlight: new Map<string, number>(),
    most: new Map<string, number>(),
    all: 0,
  }
  const failures: unknown[] = []
  const dispatcher = createDispatcher({
    db: database.db,
    clock: Date,
    nextDelayMs: 60_000,
    failed: (error) => failures.push(error),
    async deliverFirst(event) {
      const { accountId } = event
      seen.order.push(event)
      const now = (seen.inFlight.get(accountId) ?? 0) + 1
      seen.inFlight.set(accountId, now)
      seen.most.set(accountId, Math.max(now, seen.most.get(accountId) ?? 0))
      seen.all = Math.max(
        seen.all,
        [...seen.inFlight.values()].reduce((sum, n) => sum + n),
      )
      try {
        return await attempt(event)
      } finally {
        seen.inFlight.set(accountId, seen.inFlight.get(accountId)! - 1)
      }
    },
  })
  return { dispatcher, seen, failures }
}

const events = (count: number, accountId = newId(Date.now())) =>
  Array.from({ length: count }, () => newEvent(accountId))

test('attempts to one endpoint start at 10 at a time, and grow to 64 while it answers 200', async () => {
  const { dispatcher, seen } = dispatcherOver(() => sleep(2, acked))
  const [first, ...others] = events(1_500)
  for (const event of [first!, ...others.slice(0, 9), ...others.slice(9, 19)]) dispatcher.offer(event, target)
  expect(seen.inFlight.get(first!.accountId)).toBe(10)
  for (const event of others.slice(19)) dispatcher.offer(event, target)
  await eventually(() => expect(seen.order).toHaveLength(1_500))
  expect(seen.most.get(first!.accountId)).toBe(64)
  await dispatcher.drain()
})

test('an endpoint that does not answer 200 has one attempt at a time in the end', async () => {
  const { dispatcher, seen } = dispatcherOver(() => {
    if (seen.order.length === 30) seen.most.clear()
    return sleep(1, refused)
  })
  const some = events(60)
  for (const event of some) dispatcher.offer(event, target)
  await eventually(() => expect(seen.order).toHaveLength(60))
  expect(seen.most.get(some[0]!.accountId)).toBe(1)
  await dispatcher.drain()
})

test('no more than 200 attempts are in flight, and accounts take turns', async () => {
  const { dispatcher, seen } = dispatcherOver(() => sleep(20, acked))
  const accounts = Array.from({ length: 40 }, () => events(20))
  for (const event of accounts.flat()) dispatcher.offer(event, target)
  await eventually(() => expect(seen.order).toHaveLength(800))
  expect(seen.all).toBe(200)
  // The first of the last account did not wait for the last of the first.
  const last = accounts.at(-1)![0]!.accountId
  expect(seen.order.findIndex(({ accountId }) => accountId === last)).toBeLessThan(400)
  await dispatcher.drain()
})

test('what does not fit gives its lease up and stays a row', async () => {
  const held = Promise.withResolvers<Made>()
  const { dispatcher } = dispatcherOver(() => held.promise)
  const some = events(2_020)
  await storeDispatches(database, some, { lease: 30 })
  for (const event of some) dispatcher.offer(event, target)
  await eventually(async () => {
    const rows = await openDispatches(database, some)
    expect(rows.filter((row) => row.lease_until === null)).toHaveLength(10)
  })
  held.resolve(acked)
  await dispatcher.drain()
})

test('a drain ends what has begun and leaves the rest to Temporal', async () => {
  const held = Promise.withResolvers<Made>()
  const { dispatcher, seen } = dispatcherOver(() => held.promise)
  const some = events(30)
  await storeDispatches(database, some, { lease: 30 })
  for (const event of some) dispatcher.offer(event, target)
  let drained = false
  const drain = dispatcher.drain().then(() => {
    drained = true
  })
  await eventually(async () => {
    const rows = await openDispatches(database, some)
    expect(rows.filter((row) => row.lease_until === null)).toHaveLength(20)
  })
  expect(drained).toBe(false)
  held.resolve(acked)
  await drain
  expect(seen.order).toHaveLength(10)
})

test('a fault of our own leaves the attempt to Temporal, and is told', async () => {
  const { dispatcher, failures } = dispatcherOver(() => Promise.reject(new Error('no database')))
  const [event] = events(1)
  await storeDispatches(database, [event!], { lease: 30 })
  dispatcher.offer(event!, target)
  await eventually(async () => expect((await openDispatches(database, [event!]))[0]!.lease_until).toBeNull())
  expect(failures).toHaveLength(1)
  await dispatcher.drain()
})
