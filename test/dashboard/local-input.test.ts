import { expect, test } from 'vitest'
import { localInput, timeOfInput } from '../../dashboard/time/local-input.ts'

test.each(['2026-11-22T15:05:00.000Z', '2026-07-01T23:59:00.000Z'])('%s survives the field of a time', (time) => {
  expect(timeOfInput(localInput(time))).toBe(time)
})

test('a field without a time is no time', () => {
  expect(localInput(undefined)).toBe('')
  expect(localInput('yesterday')).toBe('')
  expect(timeOfInput('')).toBeUndefined()
})
