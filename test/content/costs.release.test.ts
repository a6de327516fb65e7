import { expect, test } from 'vitest'
import { FILLERS } from './fillers.ts'
import { tooMuch } from './measure.ts'
import { DOORS, ROWS } from './readers.ts'

test.each(Object.entries(ROWS))('%s costs what its octets cost in the largest content of its door', async (_, row) => {
  const bytes = row.most ?? DOORS[row.door].most
  expect(await tooMuch(row, bytes, FILLERS)).toEqual([])
})
