import { expect, test } from 'vitest'
import { delayOf } from './delays.ts'

test('fails without a mutant, too', () => {
  expect(delayOf(1)).toBe(61)
})
