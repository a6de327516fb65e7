import { expect, test, vi } from 'vitest'
import type { DeliveryEvent } from '../../../server/db/delivery-event.ts'
import { newId } from '../../../server/db/ids.ts'
import { createDispatcher, type DispatcherParts } from '../../../server/webhooks/queue/dispatcher.ts'
import { eventually } from '../../harness/eventually.ts'
import { testDatabase } from '../../harness/postgres.ts'
import { letArrive, takes } from '../../harness/waits.ts'
import { attemptsOf, newEvent, openDispatches, storeDispatches } from '../rows.ts'

const database = await testDatabase()

type Posting = Awaited<ReturnType<DispatcherParts['attemptFirst']>>
const acked: Posting = { result: { outcome: 'acked', statusCode: 200, phases: {} }, stored: Promise.resolve() }
const refused: Posting = { result: { outcome: 'not_200', statusCode: 500, phases: {} }, stored: Promise.resolve() }

/** A dispatcher whose attempts the test makes, and what the test observes. */
function dispatcherOver(attempt: (event: DeliveryEvent) => Promise<Posting>) {
  const seen = {
    order: [] as DeliveryEvent[],
    inFlight: new Map<string, number>(),
    most: new Map<string, number>(),
    all: 0,
  }
  const failures: unknown[] = []
  const inFlight = () => [...seen.inFlight.values()].reduce((sum, n) => sum + n)
  const dispatcher = createDispatcher({
    db: database.db,
    clock: Date,
    nextDelayMs: 60_000,
    onError: (error) => failures.push(error),
    async attemptFirst(event) {
      const { accountId } = event
      seen.order.push(event)
      const now = (seen.inFlight.get(accountId) ?? 0) + 1
      seen.inFlight.set(accountId, now)
      seen.most.set(accountId, Math.max(now, seen.most.get(accountId) ?? 0))
      seen.all = Math.max(seen.all, inFlight())
      try {
        return await attempt(event)
      } finally {
        seen.inFlight.set(accountId, seen.inFlight.get(accountId)! - 1)
      }
    },
  })
  return { dispatcher, seen, failures, inFlight }
}

const events = (count: number, accountId = newId(Date.now())) =>
  Array.from({ length: count }, () => newEvent(accountId))

/**
 * Accounts whose endpoints have earned many slots by a thousand quick attempts. Attempts that begin later hang.
 */
async function grown(count: number) {
  const accounts = new Set(Array.from({ length: count }, () => newId(Date.now())))
  const pending = Promise.withResolvers<Posting>()
  let isHanging = false
  const all = dispatcherOver(({ accountId }) =>
    isHanging && accounts.has(accountId) ? pending.promise : takes(2, acked),
  )
  const { dispatcher, seen } = all
  const offered = [...accounts].map((account) => events(2_000, account))
  for (let i = 0; i < 2_000; i++) for (const those of offered) if (i < 10_000 / count - 1) dispatcher.offer(those[i]!)
  const enough = count * Math.min(1_000, 5_000 / count)
  await vi.waitUntil(() => seen.order.length >= enough, { timeout: 20_000, interval: 1 })
  isHanging = true
  await eventually(() => expect(all.inFlight()).toBeGreaterThan(60))
  await letArrive(50)
  return { ...all, release: () => pending.resolve(refused) }
}

test('attempts to one endpoint start at 10 at a time, and grow to 64 while it acknowledges at once', async () => {
  const { dispatcher, seen } = dispatcherOver(() => takes(2, acked))
  const [first, ...others] = events(1_500)
  for (const event of [first!, ...others.slice(0, 9), ...others.slice(9, 19)]) dispatcher.offer(event)
  expect(seen.inFlight.get(first!.accountId)).toBe(10)
  for (const event of others.slice(19)) dispatcher.offer(event)
  await eventually(() => expect(seen.order).toHaveLength(1_500))
  expect(seen.most.get(first!.accountId)).toBe(64)
  await dispatcher.drain()
})

test('an endpoint that acknowledges late has no more than 10 attempts at a time, however many it had before', async () => {
  let delayMs = 600
  const { dispatcher, seen } = dispatcherOver(() => takes(delayMs, acked))
  const accountId = newId(Date.now())
  const offer = (count: number) => {
    for (const event of events(count, accountId)) dispatcher.offer(event)
  }
  offer(12)
  await eventually(() => expect(seen.order).toHaveLength(12))
  expect(seen.most.get(accountId)).toBe(10)
  delayMs = 2
  offer(1_488)
  await eventually(() => expect(seen.order).toHaveLength(1_500))
  expect(seen.most.get(accountId)).toBe(64)
  delayMs = 600
  offer(70)
  await eventually(() => expect(seen.order.length).toBeGreaterThan(1_564))
  seen.most.clear()
  offer(10)
  await eventually(() => expect(seen.order).toHaveLength(1_580))
  expect(seen.most.get(accountId)).toBeLessThanOrEqual(10)
  await dispatcher.drain()
})

test('an endpoint that does not answer 200 has one attempt at a time in the end', async () => {
  const { dispatcher, seen } = dispatcherOver(() => {
    if (seen.order.length === 30) seen.most.clear()
    return takes(1, refused)
  })
  const some = events(60)
  for (const event of some) dispatcher.offer(event)
  await eventually(() => expect(seen.order).toHaveLength(60))
  expect(seen.most.get(some[0]!.accountId)).toBe(1)
  await dispatcher.drain()
})

test('no more than 200 attempts are in flight, and accounts are served round-robin', async () => {
  const { dispatcher, seen } = dispatcherOver(() => takes(20, acked))
  const accounts = Array.from({ length: 40 }, () => events(20))
  for (const event of accounts.flat()) dispatcher.offer(event)
  await eventually(() => expect(seen.order).toHaveLength(800))
  expect(seen.all).toBeGreaterThan(150)
  expect(seen.all).toBeLessThanOrEqual(200)
  // The first event of the last account does not wait for the last event of the first account.
  const last = accounts.at(-1)![0]!.accountId
  expect(seen.order.findIndex(({ accountId }) => accountId === last)).toBeLessThan(400)
  await dispatcher.drain()
})

test.each([1, 4, 20])(
  'when %i endpoints that were quick hang all at once, attempts to another one begin without waiting',
  async (count) => {
    const { dispatcher, seen, release } = await grown(count)
    const victim = events(5)
    for (const event of victim) {
      dispatcher.offer(event)
      expect(seen.order.at(-1)).toBe(event)
      await eventually(() => expect(seen.inFlight.get(event.accountId)).toBe(0))
    }
    release()
    await dispatcher.drain()
  },
)

test('endpoints for which thousands of events wait leave room in the queue for the events of others', async () => {
  const pending = Promise.withResolvers<Posting>()
  const { dispatcher } = dispatcherOver(() => pending.promise)
  const victim = events(100)
  await storeDispatches(database, victim, { lease: 30 })
  for (let account = 0; account < 5; account++) for (const event of events(2_500)) dispatcher.offer(event)
  for (const event of victim) dispatcher.offer(event)
  // Leases end in the order of offers: this one comes after any of the victim's.
  const [last] = events(1)
  await storeDispatches(database, [last!], { lease: 30 })
  for (const event of [...events(2_500, last!.accountId), last!]) dispatcher.offer(event)
  await eventually(async () => expect((await openDispatches(database, [last!]))[0]!.leaseUntil).toBeNull())
  for (const row of await openDispatches(database, victim)) expect(row.leaseUntil).not.toBeNull()
  pending.resolve(acked)
  await dispatcher.drain()
})

test('a first attempt that is not made gives up its lease, so that no attempt is stored as unknown', async () => {
  const { dispatcher } = dispatcherOver(async () => undefined)
  const [event] = events(1)
  await storeDispatches(database, [event!], { lease: 5 })
  dispatcher.offer(event!)
  await eventually(async () => expect((await openDispatches(database, [event!]))[0]!.leaseUntil).toBeNull())
  await dispatcher.drain()
  expect(await openDispatches(database, [event!])).toMatchObject([{ attempt: 1, workflowId: null }])
  expect(await attemptsOf(database, event!)).toEqual([])
})

test('an event that does not fit gives up its lease and stays a row', async () => {
  const pending = Promise.withResolvers<Posting>()
  const { dispatcher } = dispatcherOver(() => pending.promise)
  const some = events(2_020)
  await storeDispatches(database, some, { lease: 30 })
  for (const event of some) dispatcher.offer(event)
  await eventually(async () => {
    const rows = await openDispatches(database, some)
    expect(rows.filter((row) => row.leaseUntil === null)).toHaveLength(10)
  })
  pending.resolve(acked)
  await dispatcher.drain()
})

test('a drain waits for the attempts in flight and leaves the rest to Temporal', async () => {
  const pending = Promise.withResolvers<Posting>()
  const { dispatcher, seen } = dispatcherOver(() => pending.promise)
  const some = events(30)
  await storeDispatches(database, some, { lease: 30 })
  for (const event of some) dispatcher.offer(event)
  expect(dispatcher.load()).toEqual({ inFlight: 10, queued: 20 })
  let drained = false
  const drain = dispatcher.drain().then(() => {
    drained = true
  })
  await eventually(async () => {
    const rows = await openDispatches(database, some)
    expect(rows.filter((row) => row.leaseUntil === null)).toHaveLength(20)
  })
  expect(drained).toBe(false)
  const [late] = events(1)
  await storeDispatches(database, [late!], { lease: 30 })
  dispatcher.offer(late!)
  await eventually(async () => expect(await openDispatches(database, [late!])).toMatchObject([{ leaseUntil: null }]))
  pending.resolve(acked)
  await drain
  expect(seen.order).toHaveLength(10)
})

test('a fault of the service leaves the attempt to Temporal, and is reported', async () => {
  const { dispatcher, failures } = dispatcherOver(() => Promise.reject(new Error('no database')))
  const [event] = events(1)
  await storeDispatches(database, [event!], { lease: 30 })
  dispatcher.offer(event!)
  await eventually(async () => expect((await openDispatches(database, [event!]))[0]!.leaseUntil).toBeNull())
  expect(failures).toHaveLength(1)
  await dispatcher.drain()
})
