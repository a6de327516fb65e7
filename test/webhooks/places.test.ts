import { expect, test } from 'vitest'
import { createPlaces } from '../../server/webhooks/places.ts'

const ORIGIN = 'https://hooks.example.com'
const NO_TIME = { perOrigin: 16, waitMs: 0 }

/** How many places each account gets when all ask for as many as there are, one after the other. */
async function sharesOf(accounts: number): Promise<number[]> {
  const places = createPlaces(NO_TIME)
  const shares = Array.from({ length: accounts }, () => 0)
  for (let round = 0; round < NO_TIME.perOrigin; round++)
    for (const account of shares.keys()) if (await places.take(ORIGIN, `account ${account}`)) shares[account]!++
  return shares
}

test('an account holds as many places as it leaves free, so that accounts which ask in turn get equal shares', async () => {
  expect(await sharesOf(1)).toEqual([8])
  expect(await sharesOf(3)).toEqual([4, 4, 4])
  expect(await sharesOf(7)).toEqual(Array(7).fill(2))
  expect(await sharesOf(15)).toEqual(Array(15).fill(1))
})

test('other origins have places of their own', async () => {
  const places = createPlaces({ perOrigin: 2, waitMs: 0 })
  expect(await places.take(ORIGIN, 'one')).toBeDefined()
  expect(await places.take(ORIGIN, 'one')).toBeUndefined()
  expect(await places.take('https://other.example.com', 'one')).toBeDefined()
})

test('accounts that wait take turns, and those of one account go in their order', async () => {
  const places = createPlaces({ perOrigin: 2, waitMs: 10_000 })
  const held = await places.take(ORIGIN, 'one')
  const order: string[] = []
  const wait = async (accountId: string, name: string) => {
    const free = await places.take(ORIGIN, accountId)
    order.push(name)
    free!()
  }
  const all = [wait('one', 'one 1'), wait('one', 'one 2')]
  const second = await places.take(ORIGIN, 'two')
  all.push(wait('two', 'two 1'), wait('one', 'one 3'), wait('two', 'two 2'))
  held!()
  second!()
  await Promise.all(all)
  expect(order).toEqual(['one 1', 'two 1', 'one 2', 'two 2', 'one 3'])
})

test('what gave up waiting, by time or by its signal, is passed over and holds nothing', async () => {
  const places = createPlaces({ perOrigin: 2, waitMs: 10_000 })
  const free = await places.take(ORIGIN, 'one')
  const leaving = new AbortController()
  const left = places.take(ORIGIN, 'one', leaving.signal)
  const waits = places.take(ORIGIN, 'one')
  leaving.abort()
  expect(await left).toBeUndefined()
  expect(await places.take(ORIGIN, 'one', AbortSignal.abort())).toBeUndefined()
  free!()
  const next = await waits
  next!()
  expect(await places.take(ORIGIN, 'one')).toBeDefined()
})
