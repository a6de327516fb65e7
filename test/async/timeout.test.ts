import { expect, test } from 'vitest'
import { byTime, inTime } from '../../server/async/timeout.ts'

const never = new Promise<never>(() => {})

test('work that ends in time gives its result, or its own error', async () => {
  expect(await inTime(Promise.resolve('done'), 1_000)).toBe('done')
  await expect(inTime(Promise.reject(new Error('broken')), 1_000)).rejects.toThrow('broken')
})

test('work that takes longer ends with an error that says the time, or with that of the caller', async () => {
  await expect(inTime(never, 12.4)).rejects.toThrow('no result within 12 ms')
  await expect(byTime(never, performance.now() + 5)).rejects.toThrow(/no result within \d ms/)
  await expect(byTime(never, performance.now() + 5, () => new Error('too late'))).rejects.toThrow('too late')
})
