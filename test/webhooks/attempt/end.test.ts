import { afterEach, expect, test, vi } from 'vitest'
import { keepTrying } from '../../../server/webhooks/attempt/end.ts'

// How long the outcome of an attempt is tried to be stored.

afterEach(() => {
  vi.restoreAllMocks()
})

/** Work that fails with these errors, one after the other, and then succeeds. */
const failing = (errors: Error[]) => {
  const left = [...errors]
  return vi.fn(async () => {
    const error = left.shift()
    if (error) throw error
  })
}
const sqlError = (code: string) => Object.assign(new Error(code), { code })

test('what fails while the database cannot be reached is repeated until it succeeds', async () => {
  const work = failing([sqlError('ECONNREFUSED'), sqlError('57P01'), new Error('gone')])
  await keepTrying(work)
  expect(work).toHaveBeenCalledTimes(4)
})

test.each(['22P02', '23505'])('a fault of the row itself (%s) is not repeated', async (code) => {
  const work = failing([sqlError(code)])
  await expect(keepTrying(work)).rejects.toThrow(code)
  expect(work).toHaveBeenCalledTimes(1)
})

test('after 14 seconds the last error is thrown', async () => {
  const now = performance.now.bind(performance)
  let laterMs = 1e9
  vi.spyOn(performance, 'now').mockImplementation(() => now() + laterMs)
  const work = vi.fn(async () => {
    laterMs += 6_000
    throw new Error(`after ${laterMs - 1e9}`)
  })
  await expect(keepTrying(work)).rejects.toThrow('after 18000')
  expect(work).toHaveBeenCalledTimes(3)
})
