import { expect, test } from 'vitest'
import { createMinuteCounter } from '../../server/shaping/minute-counter.ts'

test('what happened in the last minute is counted, evenly in the minute before this one', () => {
  let nowMs = 0
  const counter = createMinuteCounter(() => nowMs)
  const add = (number: number) => Array.from({ length: number }, counter.add)
  const countAt = (seconds: number) => {
    nowMs = seconds * 1_000
    return counter.count()
  }
  add(60)
  expect([0, 30, 59].map(countAt)).toEqual([60, 60, 60])
  expect([60, 90, 119].map(countAt)).toEqual([60, 30, 1])
  add(10)
  expect([120, 150].map(countAt)).toEqual([10, 5])
  expect(countAt(240)).toBe(0)
})
