import { expect, test } from 'vitest'
import { whereReadAside } from './where-read.ts'

test('a mail of much text or many lines is read in a thread, and a smaller one by the caller', async () => {
  const lines = (count: number) => Buffer.from('x\n'.repeat(count))
  const bytes = (count: number) => Buffer.alloc(count, 'x')
  for (const small of [lines(398), bytes(16 * 1024)])
    expect(await whereReadAside(small, 'more')).toEqual([true, 'more'])
  for (const large of [lines(399), lines(2_000), bytes(16 * 1024 + 1)])
    expect(await whereReadAside(large, 'more')).toEqual([false, 'more'])
})
