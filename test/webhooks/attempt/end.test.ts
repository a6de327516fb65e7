import { expect, test, vi } from 'vitest'
import { keepTrying } from '../../../server/webhooks/attempt/end.ts'
import { farClock } from '../../harness/far-clock.ts'

// How long the outcome of an attempt is tried to be stored.

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
  const { advance } = farClock()
  const work = vi.fn(async (): Promise<void> => {
    advance(6_000)
    throw new Error(`try ${work.mock.calls.length}`)
  })
  await expect(keepTrying(work)).rejects.toThrow('try 3')
  expect(work).toHaveBeenCalledTimes(3)
})
