import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readTrueOrFalse } from '../../server/sending/dry-run.ts'

test('true and false are read in any case, and nothing else: a typo must not send', () => {
  const around = fc.constantFrom('', ' ', 'x', '\n', '1')
  const word = fc.constantFrom('true', 'false', 'True', 'FALSE', 'tRuE', 'yes', '1', '')
  fc.assert(
    fc.property(around, word, around, (before, word, after) => {
      const known: Record<string, boolean> = { true: true, false: false }
      expect(readTrueOrFalse(before + word + after)).toBe(known[(before + word + after).toLowerCase()])
    }),
  )
})
