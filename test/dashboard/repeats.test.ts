import { Code, ConnectError } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import { wordsFor } from '../../dashboard/feedback/call-error.ts'
import { isRepeated, repeatAfterMs } from '../../dashboard/repeats.ts'
import { fail } from '../../server/errors.ts'

// Which reads a page sends again by itself.

const over = (retryAfterSeconds: number) => fail('rate_limit_exceeded', 'Repeat this call.', { retryAfterSeconds })

test('a read that found no place among those of its account is repeated after the wait that the server names', () => {
  expect([0, 1, 4].map((failures) => isRepeated(failures, over(1)))).toEqual([true, true, true])
  expect(isRepeated(5, over(1))).toBe(false)
  for (let i = 0; i < 20; i++) {
    expect(repeatAfterMs(0, over(2))).toBeGreaterThanOrEqual(2_000)
    // The two seconds that the error names, and less than one of chance.
    expect(repeatAfterMs(0, over(2))).toBeLessThan(3_000)
  }
})

test('a limit that lasts longer is shown at once, in the words of the server', () => {
  expect(isRepeated(0, over(6))).toBe(false)
  expect(wordsFor(over(60))).toBe('Repeat this call.')
})

test('a read without a response is repeated twice, each time later', () => {
  const lost = new ConnectError('failed to fetch', Code.Unknown)
  expect([0, 1, 2].map((failures) => isRepeated(failures, lost))).toEqual([true, true, false])
  expect([0, 1].map((failures) => repeatAfterMs(failures, lost))).toEqual([1_000, 2_000])
})

test('an answer, a call out of time and a fault of the page are not repeated', () => {
  expect(isRepeated(0, fail('not_found', 'There is no such event.'))).toBe(false)
  expect(isRepeated(0, new ConnectError('late', Code.DeadlineExceeded))).toBe(false)
  expect(isRepeated(0, new TypeError('a fault'))).toBe(false)
})
