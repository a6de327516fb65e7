import { expect, test } from 'vitest'
import { createReadCache } from '../../server/async/read-cache.ts'
import { outlast, takes } from '../harness/waits.ts'

const KEEP = { keepMs: 200, missingMs: 50, maxEntries: 3 }

/** A cache that lists its reads. */
function countingCache(
  respond: (key: string, reads: number) => Promise<string | undefined>,
  keep: Partial<typeof KEEP> = {},
) {
  const reads: string[] = []
  const read = (key: string) => respond(key, reads.push(key))
  return { find: createReadCache({ read, ...KEEP, ...keep }), reads }
}

test('concurrent calls with the same key share one read', async () => {
  const { find, reads } = countingCache(async (key) => `value of ${key}`)
  const values = await Promise.all(['a', 'a', 'b', 'a'].map(find))
  expect(values).toEqual(['value of a', 'value of a', 'value of b', 'value of a'])
  expect(reads).toEqual(['a', 'b'])
})

test('a value is read again when its time is over, counted from the beginning of its read', async () => {
  const slow = async (_: string, reads: number) => {
    await takes(1_000)
    return String(reads)
  }
  const { find } = countingCache(slow, { keepMs: 2_000 })
  expect(await find('a')).toBe('1')
  expect(await find('a')).toBe('1')
  await outlast(1_100)
  expect(await find('a')).toBe('2')
})

test('no call waits for a read that began too long ago', async () => {
  const { find } = countingCache((_, reads) => (reads === 1 ? new Promise(() => {}) : Promise.resolve('second')), {
    keepMs: 30,
  })
  void find('a').catch(() => {})
  await outlast(40)
  expect(await find('a')).toBe('second')
})

test('a missing value is kept for a shorter time', async () => {
  const { find, reads } = countingCache(async (_, reads) => (reads === 1 ? undefined : 'made since'))
  expect(await find('a')).toBeUndefined()
  expect(await find('a')).toBeUndefined()
  expect(reads).toHaveLength(1)
  await outlast(60)
  expect(await find('a')).toBe('made since')
})

test('a read that fails rejects the calls that waited and is not kept', async () => {
  const { find } = countingCache(async (_, reads) => {
    if (reads === 1) throw new Error('gone')
    return 'back'
  })
  const [first, second] = await Promise.allSettled([find('a'), find('a')])
  expect([first.status, second.status]).toEqual(['rejected', 'rejected'])
  expect(await find('a')).toBe('back')
})

test('the cache is bounded: the oldest entry goes first', async () => {
  const { find, reads } = countingCache(async (key) => key)
  for (const key of ['a', 'b', 'c', 'd']) await find(key)
  for (const key of ['b', 'c', 'd']) await find(key)
  expect(reads).toEqual(['a', 'b', 'c', 'd'])
  await find('a')
  expect(reads).toHaveLength(5)
})
