import { expect, test } from 'vitest'
import { createPlaces, createSlots } from '../server/slots.ts'

test('a key has a fixed number of slots, and other keys have their own', async () => {
  const slots = createSlots({ perKey: 2, maxWaiting: 5 })
  await slots.take('a')
  await slots.take('a')
  expect(await slots.take('a', { untilMs: performance.now() + 20 })).toBeUndefined()
  expect(await slots.take('b')).toBeDefined()
})

test('requests that wait are served in turn as slots come free', async () => {
  const slots = createSlots({ perKey: 1, maxWaiting: 5 })
  const free = await slots.take('a')
  const order: number[] = []
  const waiting = [1, 2, 3].map(async (turn) => {
    const done = await slots.take('a')
    order.push(turn)
    done!()
  })
  free!()
  await Promise.all(waiting)
  expect(order).toEqual([1, 2, 3])
})

test('the number of waiting requests is bounded, and one that gave up frees its place in the line, not a slot', async () => {
  const slots = createSlots({ perKey: 1, maxWaiting: 1 })
  const free = await slots.take('a')
  const gaveUp = slots.take('a', { signal: AbortSignal.timeout(20) })
  expect(await slots.take('a')).toBeUndefined()
  expect(await gaveUp).toBeUndefined()
  const waits = slots.take('a')
  free!()
  expect(await waits).toBeDefined()
  expect(await slots.take('a', { untilMs: performance.now() + 20 })).toBeUndefined()
})

test('a request whose signal has already aborted takes no slot', async () => {
  const slots = createSlots({ perKey: 1, maxWaiting: 1 })
  expect(await slots.take('a', { signal: AbortSignal.abort() })).toBeUndefined()
  expect(await slots.take('a')).toBeDefined()
})

test('turns that wait are served one after the other, each in the order of its requests', async () => {
  const slots = createSlots({ perKey: 1, maxWaiting: 20 })
  const free = await slots.take('a')
  const order: string[] = []
  const waiting = ['x1', 'x2', 'x3', 'y1', 'y2', 'z1'].map(async (name) => {
    const done = await slots.take('a', { turn: name[0] })
    order.push(name)
    done!()
  })
  free!()
  await Promise.all(waiting)
  expect(order).toEqual(['x1', 'y1', 'z1', 'x2', 'y2', 'x3'])
})

test('one turn holds at most its share of places, and the others get the rest at once', async () => {
  const places = createPlaces({ places: 3, perTurn: 2 })
  const [first] = [places.takeNow('x'), places.takeNow('x')]
  expect(places.takeNow('x')).toBeUndefined()
  const waits = places.take('x')
  expect(places.takeNow('y')).toBeDefined()
  expect(places.takeNow('z')).toBeUndefined()
  first!()
  expect(await waits).toBeDefined()
})

test('patience ends at its time, by its signal and when the places are closed', async () => {
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

const asManyAsAreFree = (free: number) => free

/** How many slots each turn gets when all turns request all slots, one after the other. */
async function sharesOf(turns: number): Promise<number[]> {
  const perKey = 16
  const slots = createSlots({ perKey, perTurn: asManyAsAreFree })
  const shares = Array.from({ length: turns }, () => 0)
  for (let round = 0; round < perKey; round++)
    for (const turn of shares.keys())
      if (await slots.take('a', { turn: `turn ${turn}`, untilMs: performance.now() })) shares[turn]!++
  return shares
}

test('a turn that may hold as many slots as it leaves free shares them equally with others that take turns', async () => {
  expect(await sharesOf(1)).toEqual([8])
  expect(await sharesOf(3)).toEqual([4, 4, 4])
  expect(await sharesOf(7)).toEqual(Array(7).fill(2))
  expect(await sharesOf(15)).toEqual(Array(15).fill(1))
})

test('each key counts the slots that its own turns leave free', async () => {
  const slots = createSlots({ perKey: 2, perTurn: asManyAsAreFree })
  const request = () => ({ turn: 'one', untilMs: performance.now() })
  expect(await slots.take('a', request())).toBeDefined()
  expect(await slots.take('a', request())).toBeUndefined()
  expect(await slots.take('b', request())).toBeDefined()
})

test('turns that hold as many slots as they leave free are served in turn, each in the order of its requests', async () => {
  const slots = createSlots({ perKey: 2, perTurn: asManyAsAreFree })
  const slot = await slots.take('a', { turn: 'one' })
  const order: string[] = []
  const wait = async (turn: string, name: string) => {
    const free = await slots.take('a', { turn })
    order.push(name)
    free!()
  }
  const all = [wait('one', 'one 1'), wait('one', 'one 2')]
  const second = await slots.take('a', { turn: 'two' })
  all.push(wait('two', 'two 1'), wait('one', 'one 3'), wait('two', 'two 2'))
  slot!()
  second!()
  await Promise.all(all)
  expect(order).toEqual(['one 1', 'two 1', 'one 2', 'two 2', 'one 3'])
})

test('one slot that comes free serves each turn that may now hold one more', async () => {
  const slots = createSlots({ perKey: 6, perTurn: asManyAsAreFree })
  const frees = []
  for (const turn of ['one', 'one', 'two', 'two']) frees.push(await slots.take('a', { turn }))
  const waiting = ['one', 'two'].map((turn) => slots.take('a', { turn, untilMs: performance.now() + 1_000 }))
  frees.at(-1)!()
  for (const free of await Promise.all(waiting)) expect(free).toBeDefined()
})

test('a request that its signal ended is passed over and holds nothing', async () => {
  const slots = createSlots({ perKey: 2, perTurn: asManyAsAreFree })
  const free = await slots.take('a', { turn: 'one' })
  const caller = new AbortController()
  const left = slots.take('a', { turn: 'one', signal: caller.signal })
  const waits = slots.take('a', { turn: 'one' })
  caller.abort()
  expect(await left).toBeUndefined()
  expect(await slots.take('a', { turn: 'one', signal: AbortSignal.abort() })).toBeUndefined()
  free!()
  const next = await waits
  next!()
  expect(await slots.take('a', { turn: 'one' })).toBeDefined()
})
