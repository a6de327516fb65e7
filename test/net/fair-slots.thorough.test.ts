import { expect, test } from 'vitest'
import { createFairSlotsByKey } from '../../net/fair-slots.ts'

const asManyAsAreFree = (free: number) => free

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
