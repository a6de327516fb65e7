import fc from 'fast-check'
import stringWidth from 'string-width'
import { expect, test } from 'vitest'
import { table } from '../../cli/table.ts'

test('columns are aligned by the width that a terminal gives to their text', () => {
  const rows = [
    ['株式会社', 'pro'],
    ['Zoë', 'free'],
    ['Zoe\u0308 👩‍👩‍👧', 'pro'],
  ]
  expect(table(['NAME', 'TIER'], rows, '').split('\n')).toEqual([
    'NAME      TIER',
    '株式会社  pro',
    'Zoë       free',
    'Zoe\u0308 👩‍👩‍👧    pro',
  ])
})

const ID = 'msg_01m81wy2s6efabg3acxxehggs0'

test('on a terminal a row fits, ids stay whole, and times are short; a pipe gets every character', () => {
  const cell = fc.string({ unit: 'grapheme', maxLength: 60 })
  fc.assert(
    fc.property(fc.array(fc.tuple(cell, cell), { minLength: 1 }), fc.integer({ min: 90, max: 200 }), (texts, width) => {
      const rows = texts.map(([a, b]) => ['2026-01-31T12:00:00.123Z', a, b, ID])
      const lines = table(['TIME', 'A', 'B', 'MESSAGE'], rows, '', width).split('\n')
      for (const line of lines.slice(1)) {
        expect(stringWidth(line)).toBeLessThanOrEqual(width)
        expect(line.startsWith('2026-01-31 12:00:00  ')).toBe(true)
        expect(line.endsWith(ID)).toBe(true)
      }
      expect(table(['TIME', 'A', 'B', 'MESSAGE'], rows, '', undefined)).toContain('2026-01-31T12:00:00.123Z')
    }),
  )
})

test('what is cut ends with an ellipsis, and the widest is cut first', () => {
  const row = ['short', 'a subject that is longer than all others', 'ann@example.com']
  expect(table(['A', 'SUBJECT', 'RECIPIENT'], [row], '', 50).split('\n')[1]).toBe(
    'short  a subject that is longer…   ann@example.com',
  )
})
