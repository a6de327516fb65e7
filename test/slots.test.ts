import { expect, test } from 'vitest'
import { createSlots } from '../server/slots.ts'

const never = new AbortController().signal

test('a key has so many slots and no more, and other keys have their own', async () => {
  const slots = createSlots({ perKey: 2, maxWaiting: 5 })
  await slots.take('a', never)
  await slots.take('a', never)
  expect(await slots.take('a', AbortSignal.timeout(20))).toBeUndefined()
  expect(await slots.take('b', never)).toBeDefined()
})

test('who waits is served in turn as slots come free', async () => {
  const slots = createSlots({ perKey: 1, maxWaiting: 5 })
  const free = await slots.take('a', never)
  const order: number[] = []
  const waiting = [1, 2, 3].map(async (turn) => {
    const done = await slots.take('a', never)
    order.push(turn)
    done!()
  })
  free!()
  await Promise.all(waiting)
  expect(order).toEqual([1, 2, 3])
})

test('more do not wait than may, and who gave up frees the place in the line, not a slot', async () => {
  const slots = createSlots({ perKey: 1, maxWaiting: 1 })
  const free = await slots.take('a', never)
  const gaveUp = slots.take('a', AbortSignal.timeout(20))
  expect(await slots.take('a', never)).toBeUndefined()
  expect(await gaveUp).toBeUndefined()
  const waits = slots.take('a', never)
  free!()
  expect(await waits).toBeDefined()
  expect(await slots.take('a', AbortSignal.timeout(20))).toBeUndefined()
})

test('a signal that came before takes no slot', async () => {
  const slots = createSlots({ perKey: 1, maxWaiting: 1 })
  expect(await slots.take('a', AbortSignal.abort())).toBeUndefined()
  expect(await slots.take('a', never)).toBeDefined()
})
