import { expect, test } from 'vitest'
import { createPlaces, createSlots } from '../server/slots.ts'

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

test('turns that wait are served one after the other, each in the order of its requests', async () => {
  const slots = createSlots({ perKey: 1, maxWaiting: 20 })
  const free = await slots.take('a', never)
  const order: string[] = []
  const waiting = ['x1', 'x2', 'x3', 'y1', 'y2', 'z1'].map(async (name) => {
    const done = await slots.take('a', never, name[0])
    order.push(name)
    done!()
  })
  free!()
  await Promise.all(waiting)
  expect(order).toEqual(['x1', 'y1', 'z1', 'x2', 'y2', 'x3'])
})

test('one turn holds no more places than it may, and what is left is for others at once', async () => {
  const places = createPlaces({ places: 3, perTurn: 2 })
  const [first] = [places.takeNow('x'), places.takeNow('x')]
  expect(places.takeNow('x')).toBeUndefined()
  const waits = places.take('x')
  expect(places.takeNow('y')).toBeDefined()
  expect(places.takeNow('z')).toBeUndefined()
  first!()
  expect(await waits).toBeDefined()
})

test('patience ends by its time, by its signal and when the places are closed', async () => {
  const places = createPlaces({ places: 1 })
  const free = places.takeNow('x')
  const caller = new AbortController()
  const waiting = [
    places.take('x', { untilMs: performance.now() + 20 }),
    places.take('y', { signal: caller.signal }),
    places.take('z'),
  ]
  expect(await waiting[0]).toBeUndefined()
  caller.abort()
  expect(await waiting[1]).toBeUndefined()
  places.close()
  expect(await waiting[2]).toBeUndefined()
  free!()
  expect(places.isUnused()).toBe(true)
})
