import { expect, test } from 'vitest'
import { createFairSlotsByKey, FairSlots } from '../../net/fair-slots.ts'

test('a key has a fixed number of slots, and other keys have their own', async () => {
  const slots = createFairSlotsByKey({ slotsPerKey: 2, maxWaiting: 5 })
  await slots.acquire('a')
  await slots.acquire('a')
  expect(await slots.acquire('a', { untilMs: performance.now() + 20 })).toBeUndefined()
  expect(await slots.acquire('b')).toBeDefined()
})

test('waiting requests get slots in order as they become free', async () => {
  const slots = createFairSlotsByKey({ slotsPerKey: 1, maxWaiting: 5 })
  const free = await slots.acquire('a')
  const order: number[] = []
  const waiting = [1, 2, 3].map(async (request) => {
    const done = await slots.acquire('a')
    order.push(request)
    done!()
  })
  free!()
  await Promise.all(waiting)
  expect(order).toEqual([1, 2, 3])
})

test('the number of waiting requests is limited, and one that gave up leaves the queue and frees no slot', async () => {
  const slots = createFairSlotsByKey({ slotsPerKey: 1, maxWaiting: 1 })
  const free = await slots.acquire('a')
  const gaveUp = slots.acquire('a', { signal: AbortSignal.timeout(20) })
  expect(await slots.acquire('a')).toBeUndefined()
  expect(await gaveUp).toBeUndefined()
  const waits = slots.acquire('a')
  free!()
  expect(await waits).toBeDefined()
  expect(await slots.acquire('a', { untilMs: performance.now() + 20 })).toBeUndefined()
})

test('a request whose signal has already aborted takes no slot', async () => {
  const slots = createFairSlotsByKey({ slotsPerKey: 1, maxWaiting: 1 })
  expect(await slots.acquire('a', { signal: AbortSignal.abort() })).toBeUndefined()
  expect(await slots.acquire('a')).toBeDefined()
})

test('accounts are served round-robin, and the requests of each in order', async () => {
  const slots = createFairSlotsByKey({ slotsPerKey: 1, maxWaiting: 20 })
  const free = await slots.acquire('a')
  const order: string[] = []
  const waiting = ['x1', 'x2', 'x3', 'y1', 'y2', 'z1'].map(async (name) => {
    const done = await slots.acquire('a', { accountId: name[0] })
    order.push(name)
    done!()
  })
  free!()
  await Promise.all(waiting)
  expect(order).toEqual(['x1', 'y1', 'z1', 'x2', 'y2', 'x3'])
})

test('one account holds at most its share of the slots, and others get the rest at once', async () => {
  const slots = new FairSlots({ slots: 3, perAccount: 2 })
  const [first] = [slots.tryAcquire('x'), slots.tryAcquire('x')]
  expect(slots.tryAcquire('x')).toBeUndefined()
  const waits = slots.acquire({ accountId: 'x' })
  expect(slots.tryAcquire('y')).toBeDefined()
  expect(slots.tryAcquire('z')).toBeUndefined()
  first!()
  expect(await waits).toBeDefined()
})

test('a wait ends at its time, by its signal and when the slots are closed', async () => {
  const slots = new FairSlots({ slots: 1 })
  const free = slots.tryAcquire('x')
  const caller = new AbortController()
  const waiting = [
    slots.acquire({ accountId: 'x', untilMs: performance.now() + 20 }),
    slots.acquire({ accountId: 'y', signal: caller.signal }),
    slots.acquire({ accountId: 'z' }),
  ]
  expect(await waiting[0]).toBeUndefined()
  caller.abort()
  expect(await waiting[1]).toBeUndefined()
  slots.close()
  expect(await waiting[2]).toBeUndefined()
  free!()
  expect(slots.isUnused()).toBe(true)
})

const asManyAsAreFree = (free: number) => free

test('each key counts its own free slots', async () => {
  const slots = createFairSlotsByKey({ slotsPerKey: 2, perAccount: asManyAsAreFree })
  const request = () => ({ accountId: 'one', untilMs: performance.now() })
  expect(await slots.acquire('a', request())).toBeDefined()
  expect(await slots.acquire('a', request())).toBeUndefined()
  expect(await slots.acquire('b', request())).toBeDefined()
})

test('accounts that may each hold as many slots as are still free are served round-robin, and the requests of each in order', async () => {
  const slots = createFairSlotsByKey({ slotsPerKey: 2, perAccount: asManyAsAreFree })
  const slot = await slots.acquire('a', { accountId: 'one' })
  const order: string[] = []
  const wait = async (accountId: string, name: string) => {
    const free = await slots.acquire('a', { accountId })
    order.push(name)
    free!()
  }
  const all = [wait('one', 'one 1'), wait('one', 'one 2')]
  const second = await slots.acquire('a', { accountId: 'two' })
  all.push(wait('two', 'two 1'), wait('one', 'one 3'), wait('two', 'two 2'))
  slot!()
  second!()
  await Promise.all(all)
  expect(order).toEqual(['one 1', 'two 1', 'one 2', 'two 2', 'one 3'])
})

test('one slot that becomes free lets each account hold one more', async () => {
  const slots = createFairSlotsByKey({ slotsPerKey: 6, perAccount: asManyAsAreFree })
  const frees = []
  for (const accountId of ['one', 'one', 'two', 'two']) frees.push(await slots.acquire('a', { accountId }))
  const waiting = ['one', 'two'].map((accountId) =>
    slots.acquire('a', { accountId, untilMs: performance.now() + 1_000 }),
  )
  frees.at(-1)!()
  for (const free of await Promise.all(waiting)) expect(free).toBeDefined()
})

test('a request whose signal aborted is skipped and holds no slot', async () => {
  const slots = createFairSlotsByKey({ slotsPerKey: 2, perAccount: asManyAsAreFree })
  const free = await slots.acquire('a', { accountId: 'one' })
  const caller = new AbortController()
  const left = slots.acquire('a', { accountId: 'one', signal: caller.signal })
  const waits = slots.acquire('a', { accountId: 'one' })
  caller.abort()
  expect(await left).toBeUndefined()
  expect(await slots.acquire('a', { accountId: 'one', signal: AbortSignal.abort() })).toBeUndefined()
  free!()
  const next = await waits
  next!()
  expect(await slots.acquire('a', { accountId: 'one' })).toBeDefined()
})

test('after a resize to fewer slots than are held, none is free until enough of them are released', async () => {
  const slots = new FairSlots({ slots: 3 })
  const held = [slots.tryAcquire(), slots.tryAcquire(), slots.tryAcquire()]
  slots.resize(1)
  const waiting = slots.acquire()
  held[0]!()
  held[1]!()
  expect(await Promise.race([waiting, Promise.resolve('waits')])).toBe('waits')
  expect(slots.load()).toEqual({ inUse: 1, waiting: 1 })
  held[2]!()
  expect(await waiting).toBeDefined()
  expect(slots.isUnused()).toBe(false)
})

test('after a resize to more slots, waiting requests get them at once, within the share of each account', async () => {
  const slots = new FairSlots({ slots: 1 })
  slots.tryAcquire('x')
  const waiting = [slots.acquire({ accountId: 'x' }), slots.acquire({ accountId: 'y' })]
  slots.resize(3, 1)
  expect(await waiting[1]).toBeDefined()
  expect(slots.load()).toEqual({ inUse: 2, waiting: 1 })
})

/** How many slots each account gets when all accounts request all slots, one after the other. */
async function sharesOf(accounts: number): Promise<number[]> {
  const slotsPerKey = 16
  const slots = createFairSlotsByKey({ slotsPerKey, perAccount: asManyAsAreFree })
  const shares = Array.from({ length: accounts }, () => 0)
  for (let round = 0; round < slotsPerKey; round++)
    for (const account of shares.keys())
      if (await slots.acquire('a', { accountId: `account ${account}`, untilMs: performance.now() })) shares[account]!++
  return shares
}

test('accounts that may each hold as many slots as are still free share them equally', async () => {
  expect(await sharesOf(1)).toEqual([8])
  expect(await sharesOf(3)).toEqual([4, 4, 4])
  expect(await sharesOf(7)).toEqual(Array(7).fill(2))
  expect(await sharesOf(15)).toEqual(Array(15).fill(1))
})
