import { expect, test } from 'vitest'
import { createKeyedAmounts } from '../../net/keyed-amounts.ts'

test('each key has the sum of what was added to it, and 0 before and after', () => {
  const tally = createKeyedAmounts()
  tally.add('a', 2)
  tally.add('a', 1)
  tally.add('b', 5)
  expect([tally.of('a'), tally.of('b'), tally.of('c')]).toEqual([3, 5, 0])
  tally.add('a', -3)
  expect([tally.of('a'), tally.of('b')]).toEqual([0, 5])
})
