import { expect, test } from 'vitest'
import { FILLERS } from './fillers.ts'
import { tooMuch } from './measure.ts'
import { DOORS, ROWS } from './readers.ts'

// The law: whatever content holds, reading it keeps the event loop for at most 50 ms at a time, and costs at most 4
// times the CPU of plain text of its size at the same door.
// Every reader of readers.ts is measured with every filler of fillers.ts. Readers of browsers and commands belong to
// costs.release, which has a process of its own: after the one of addresses, V8 14 has written over other objects.

/** The largest contents belong to costs.release. */
const BYTES = 256 * 1024

const SERVED = Object.entries(ROWS).filter(([, { door }]) => !DOORS[door].isAside)

test.each(SERVED)('%s costs what its octets cost, whatever they are', async (_, row) => {
  expect(await tooMuch(row, BYTES, FILLERS)).toEqual([])
})
