import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { DeliveryEvent } from '../../../server/db/delivery-event.ts'
import { newId } from '../../../server/db/ids.ts'
import { createEventBatches } from '../../../server/webhooks/queue/event-batches.ts'
import { newEvent } from '../rows.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

function recorded() {
  const passedOn: DeliveryEvent[][] = []
  return { passedOn, batches: createEventBatches((events) => passedOn.push(events)) }
}

const events = (count: number) => Array.from({ length: count }, () => newEvent(newId(Date.now())))

test('the first event after a pause does not wait, and those of the next 25 ms go together, in order', async () => {
  const { passedOn, batches } = recorded()
  const [first, second, third, late] = events(4)
  batches.add(first!)
  await Promise.resolve()
  expect(passedOn).toEqual([[first]])
  batches.add(second!)
  await vi.advanceTimersByTimeAsync(24)
  batches.add(third!)
  expect(passedOn).toEqual([[first]])
  await vi.advanceTimersByTimeAsync(1)
  expect(passedOn).toEqual([[first], [second, third]])
  await vi.advanceTimersByTimeAsync(25)
  batches.add(late!)
  await Promise.resolve()
  expect(passedOn).toEqual([[first], [second, third], [late]])
})

test('a flush passes on what waits, and nothing is passed on twice', async () => {
  const { passedOn, batches } = recorded()
  const [first, second] = events(2)
  batches.add(first!)
  await Promise.resolve()
  batches.add(second!)
  batches.flush()
  expect(passedOn).toEqual([[first], [second]])
  await vi.advanceTimersByTimeAsync(50)
  expect(passedOn.flat()).toEqual([first, second])
})
