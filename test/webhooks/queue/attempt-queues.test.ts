import { expect, test } from 'vitest'
import { newId } from '../../../server/db/ids.ts'
import { AttemptQueues } from '../../../server/webhooks/queue/attempt-queues.ts'
import { newEvent } from '../rows.ts'

const setUp = () => {
  const expired = new Set<string>()
  const dropped: string[] = []
  const queues = new AttemptQueues({
    isExpired: ({ id }) => expired.has(id),
    drop: ({ id }) => dropped.push(id),
  })
  const add = (accountId: string, count: number, endpointId = accountId) =>
    Array.from({ length: count }, () => newEvent(accountId, { endpointId })).filter((event) => queues.add(event))
  return { queues, expired, dropped, add }
}

test('an account whose queued events have all expired starts again at the first limit', () => {
  const { queues, expired, dropped, add } = setUp()
  const accountId = newId(Date.now())
  add(accountId, 10)
  const slots = [...queues.acquireSlots()]
  expect(slots).toHaveLength(10)
  const late = add(accountId, 3)
  for (const { adjustLimit, release } of slots) {
    adjustLimit(false)
    release()
  }
  for (const { id } of late) expired.add(id)
  expect([...queues.acquireSlots()]).toEqual([])
  expect(dropped).toEqual(late.map(({ id }) => id))

  add(accountId, 20)
  expect([...queues.acquireSlots()]).toHaveLength(10)
})

test('an endpoint keeps its limit while it has events or attempts, and then starts again at the first one', () => {
  const { queues, add } = setUp()
  const accountId = newId(Date.now())
  const [first, second] = add(accountId, 2)
  const [one, two] = queues.acquireSlots()
  expect([one!.event, two!.event]).toEqual([first, second])
  for (let i = 0; i < 10; i++) one!.adjustLimit(true)
  one!.release()
  expect(add(accountId, 30)).toHaveLength(30)
  const slots = [...queues.acquireSlots()]
  expect(slots).toHaveLength(19)
  for (const { release } of [two!, ...slots]) release()
  expect(queues.clear()).toHaveLength(11)
  add(accountId, 30)
  expect([...queues.acquireSlots()]).toHaveLength(10)
})

test('the load counts the events that wait and the attempts in flight', () => {
  const { queues, expired, add } = setUp()
  const accountId = newId(Date.now())
  const [first] = add(accountId, 15)
  expect(queues.load()).toEqual({ inFlight: 0, queued: 15 })
  expired.add(first!.id)
  const slots = [...queues.acquireSlots()]
  expect(queues.load()).toEqual({ inFlight: 10, queued: 4 })
  slots[0]!.release()
  expect(queues.load()).toEqual({ inFlight: 9, queued: 4 })
  queues.clear()
  expect(queues.load()).toEqual({ inFlight: 9, queued: 0 })
})

test('cleared queues return their events and have room for as many again', () => {
  const { queues, add } = setUp()
  const fill = () => Array.from({ length: 6 }, () => add(newId(Date.now()), 2_000).length)
  const first = fill()
  expect(queues.clear()).toHaveLength(first.reduce((sum, count) => sum + count))
  expect([...queues.acquireSlots()]).toEqual([])
  expect(fill()).toEqual(first)
})

test('the endpoints of one account together have at most half of the attempts and of the queue', () => {
  const { queues, add } = setUp()
  const [accountId, other] = [newId(Date.now()), newId(Date.now())]
  const endpoints = Array.from({ length: 10 }, () => newId(Date.now()))
  // Quick acknowledgements raise each endpoint to its highest limit.
  for (const endpointId of endpoints)
    for (let i = 0; i < 60; i++) {
      add(accountId, 1, endpointId)
      for (const { adjustLimit, release } of [...queues.acquireSlots()]) {
        add(accountId, 1, endpointId)
        adjustLimit(true)
        release()
      }
    }
  const queued = () => queues.load().queued
  for (const endpointId of endpoints.slice(0, 9)) add(accountId, 2_000, endpointId)
  expect([...queues.acquireSlots()]).toHaveLength(100)
  for (const endpointId of endpoints.slice(0, 9)) add(accountId, 2_000, endpointId)
  expect(queued()).toBeLessThanOrEqual(5_000)
  expect(add(other, 2_000).length).toBeGreaterThan(1_500)
  expect([...queues.acquireSlots()].map(({ event }) => event.accountId)).toEqual(Array(10).fill(other))
})
