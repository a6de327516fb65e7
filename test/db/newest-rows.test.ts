import fc from 'fast-check'
import { expect, test } from 'vitest'
import { firstIdAt, timeOfId } from '../../server/db/ids.ts'
import { type IdRange, newestRows, pageRange } from '../../server/db/newest-rows.ts'

const DAY_MS = 86_400_000
const NOW = Date.parse('2026-01-31T12:00:00Z')
const ALL: IdRange = { from: firstIdAt(NOW - 90 * DAY_MS), below: firstIdAt(NOW + DAY_MS) }

/** The ids of rows within a range, the newest first; records the ranges that are read. */
function history(agesMs: number[]) {
  const ids = agesMs.map((ms) => firstIdAt(NOW - ms)).toSorted((a, b) => (a < b ? 1 : -1))
  const ranges: IdRange[] = []
  const read = async (range: IdRange, limit: number) => {
    ranges.push(range)
    return ids.filter((id) => id >= range.from && id < range.below).slice(0, limit)
  }
  return { ids, ranges, read }
}

test('a page holds the newest rows, wherever in 90 days they are', async () => {
  const ages = fc.array(fc.integer({ min: 0, max: 90 * DAY_MS }))
  await fc.assert(
    fc.asyncProperty(ages, fc.integer({ min: 1, max: 20 }), async (agesMs, limit) => {
      const { ids, read } = history(agesMs)
      expect(await newestRows(ALL, limit, read)).toEqual(ids.slice(0, limit))
    }),
  )
})

test('a statement reads at most 18 days, and no statement follows a full page', async () => {
  const { ranges, read } = history([89 * DAY_MS])
  await newestRows(ALL, 2, read)
  const days = ranges.map(({ from, below }) => (timeOfId(below) - timeOfId(from)) / DAY_MS)
  expect(days).toEqual([2, 6, 18, 18, 18, 18, 11])
  expect(ranges.map(({ below }) => below)).toEqual([ALL.below, ...ranges.slice(0, -1).map(({ from }) => from)])
  const recent = history([1, 2])
  await newestRows(ALL, 2, recent.read)
  expect(recent.ranges).toHaveLength(1)
})

test('a page is bounded by 90 days, by the filters, and by its cursor', () => {
  const bounds = { oldest: ALL.from, nowMs: NOW, fromMs: undefined, toMs: undefined, after: undefined }
  expect(pageRange(bounds)).toEqual(ALL)
  const [day, week] = [NOW - DAY_MS, NOW - 7 * DAY_MS]
  expect(pageRange({ ...bounds, fromMs: week, toMs: day })).toEqual({ from: firstIdAt(week), below: firstIdAt(day) })
  expect(pageRange({ ...bounds, fromMs: 0, after: firstIdAt(week) })).toEqual({ ...ALL, below: firstIdAt(week) })
})
