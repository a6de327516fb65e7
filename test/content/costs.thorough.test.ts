import { expect, test } from 'vitest'
import { FILLERS } from './fillers.ts'
import { tooMuch } from './measure.ts'
import { ROWS } from './readers.ts'

// The law: whatever content holds, reading it keeps the event loop for at most 50 ms at a time, and costs at most 4
// times the CPU of plain text of its size at the same door.
// Every reader of readers.ts is measured with every filler of fillers.ts.

/** The largest contents belong to costs.release. */
const BYTES = 256 * 1024

test.each(Object.entries(ROWS))('%s costs what its octets cost, whatever they are', async (_, row) => {
  expect(await tooMuch(row, BYTES, FILLERS)).toEqual([])
})
