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
