import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import { firstIdAt, timeOfId } from '../../server/db/ids.ts'
import { type FoundInTime, type IdRange, newestRows, newestRowsInTime, pageRange } from '../../server/db/newest-rows.ts'

const DAY_MS = 86_400_000
const SEARCH_MS = 1_000
/** What it takes to look at one email. */
const EMAIL_MS = 0.014
/** The first hour of an account with a million emails a day, when the second is over just before. */
const LAST_STATEMENT_MS = 600
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

afterEach(() => vi.restoreAllMocks())

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

test('a page of a search takes about a second, however many emails a day has', async () => {
  let nowMs = 0
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  const emailsADay = fc.integer({ min: 0, max: 60 }).map((tenths) => 10 ** (tenths / 10))
  await fc.assert(
    fc.asyncProperty(emailsADay, async (perDay) => {
      const readNothing = async ({ from, below }: IdRange) => {
        nowMs += 1 + ((timeOfId(below) - timeOfId(from)) / DAY_MS) * perDay * EMAIL_MS
        return []
      }
      let pages = 0
      for (let below: string | undefined = ALL.below; below !== undefined && pages < 20; pages++) {
        const beganAtMs = nowMs
        const { stoppedAt }: FoundInTime<string> = await newestRowsInTime({ from: ALL.from, below }, 20, readNothing)
        expect(nowMs - beganAtMs).toBeLessThanOrEqual(SEARCH_MS + LAST_STATEMENT_MS)
        below = stoppedAt
      }
    }),
  )
})

test('a search stops after a second, and its pages together have every row once', async () => {
  let nowMs = 0
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  const inputs = [fc.array(fc.integer({ min: 0, max: 90 * DAY_MS })), fc.integer({ min: 1, max: 20 })] as const
  await fc.assert(
    fc.asyncProperty(...inputs, fc.integer({ min: 1, max: 2_000 }), async (agesMs, limit, readMs) => {
      const { ids, read } = history([...new Set(agesMs)])
      const slowly = (range: IdRange, limit: number) => {
        nowMs += readMs
        return read(range, limit)
      }
      const found: string[] = []
      let range: IdRange | undefined = ALL
      while (range) {
        const beganAtMs = nowMs
        const { rows, stoppedAt }: FoundInTime<string> = await newestRowsInTime(range, limit, slowly)
        // This clock moves with the statements alone.
        expect(nowMs - beganAtMs).toBeLessThanOrEqual(SEARCH_MS + readMs)
        found.push(...rows)
        const below: string | undefined = stoppedAt ?? (rows.length === limit ? rows.at(-1) : undefined)
        range = below === undefined ? undefined : { from: ALL.from, below }
      }
      expect(found).toEqual(ids)
    }),
  )
})
