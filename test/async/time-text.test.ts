import { expect, test } from 'vitest'
import { parseTime } from '../../server/async/time-text.ts'

const LENGTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
const isLeap = (year: number) => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
const lengthOf = (year: number, month: number) => LENGTHS[month - 1]! + (month === 2 && isLeap(year) ? 1 : 0)
const digits = (value: number, count = 2) => String(value).padStart(count, '0')
const upTo = (end: number) => Array.from({ length: end }, (_, i) => i)

// The parser of JavaScript has a second, lenient one behind it, which takes some dates that no calendar has.
const YEARS = [...upTo(130), 400, 1600, 1899, 1900, 1970, 1999, 2000, 2024, 2026, 2100, 9999]

test('a date is a time exactly when the calendar has its day', () => {
  const wrong: string[] = []
  for (const year of YEARS)
    for (const month of upTo(20))
      for (const day of upTo(40)) {
        const isDay = month >= 1 && month <= 12 && day >= 1 && day <= lengthOf(year, month)
        const text = `${digits(year, 4)}-${digits(month)}-${digits(day)}`
        const ms = isDay ? new Date(0).setUTCFullYear(year, month - 1, day) : undefined
        if (parseTime(text) !== ms) wrong.push(text)
      }
  expect(wrong).toEqual([])
})

test('a time of a day is one exactly when a clock shows it', () => {
  const wrong: string[] = []
  for (const hour of upTo(30))
    for (const minute of [0, 1, 59, 60, 61, 99])
      for (const second of [0, 1, 59, 60, 61, 99]) {
        const isTime = hour < 24 && minute < 60 && second < 60
        const text = `2026-01-31T${digits(hour)}:${digits(minute)}:${digits(second)}Z`
        if (parseTime(text) !== (isTime ? Date.UTC(2026, 0, 31, hour, minute, second) : undefined)) wrong.push(text)
      }
  expect(wrong).toEqual([])
})
