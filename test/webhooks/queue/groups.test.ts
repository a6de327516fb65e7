import fc from 'fast-check'
import { expect, test } from 'vitest'
import { groupDispatches, type PendingDispatch } from '../../../server/webhooks/queue/groups.ts'

const SCHEDULE = [0, 60_000, 300_000, 900_000, 3_600_000, 21_600_000]
const NOW = 1_000_000_000
const LIMITS = { scheduleMs: SCHEDULE, maxGroup: 50 }

const inOrder = (a: PendingDispatch, b: PendingDispatch) =>
  a.endpointId.localeCompare(b.endpointId) || a.attempt - b.attempt || a.dueMs - b.dueMs

const rows = fc
  .array(
    fc.record({
      id: fc.uuid(),
      endpointId: fc.constantFrom('a', 'b', 'c'),
      attempt: fc.integer({ min: 1, max: 3 }),
      failedMs: fc.integer({ min: NOW - 400_000, max: NOW }),
    }),
    { maxLength: 300 },
  )
  .map((rows) =>
    rows.map(({ failedMs, ...row }) => ({ ...row, dueMs: failedMs + SCHEDULE[row.attempt - 1]! })).sort(inOrder),
  )

test('a group has one endpoint and one attempt, at most 50 dispatches, all due within two seconds or already; no dispatch is in two groups', () => {
  fc.assert(
    fc.property(rows, (rows) => {
      const groups = groupDispatches(rows, NOW, LIMITS)
      for (const group of groups) {
        expect(new Set(group.map((row) => `${row.endpointId} ${row.attempt}`)).size).toBe(1)
        expect(group.length).toBeLessThanOrEqual(50)
        // The documented span of a group.
        if (group.at(-1)!.dueMs > NOW) expect(group.at(-1)!.dueMs - group[0]!.dueMs).toBeLessThanOrEqual(2_000)
      }
      const grouped = groups.flat()
      expect(new Set(grouped).size).toBe(grouped.length)
    }),
  )
})

test('dispatches that are due need no more groups than their number does', () => {
  fc.assert(
    fc.property(rows, (rows) => {
      const due = rows.filter(({ dueMs }) => dueMs <= NOW)
      const ofDue = groupDispatches(rows, NOW, LIMITS).filter(([first]) => first!.dueMs <= NOW)
      const alike = Map.groupBy(due, (row) => `${row.endpointId} ${row.attempt}`).values()
      const needed = [...alike].map(({ length }) => Math.ceil(length / LIMITS.maxGroup))
      expect(ofDue.length).toBe(needed.reduce((sum, groups) => sum + groups, 0))
    }),
  )
})

test('a dispatch is left out only in the first second after its failure, until 50 of its kind are together', () => {
  fc.assert(
    fc.property(rows, (rows) => {
      const groups = groupDispatches(rows, NOW, LIMITS)
      const failedAgo = ({ attempt, dueMs }: PendingDispatch) => NOW - (dueMs - SCHEDULE[attempt - 1]!)
      const grouped = new Set(groups.flat())
      for (const row of rows) {
        if (row.attempt === 1 || failedAgo(row) >= 1_000) expect(grouped).toContain(row)
      }
      for (const group of groups) {
        const [first] = group
        if (group.length < LIMITS.maxGroup && first.attempt > 1) expect(failedAgo(first)).toBeGreaterThanOrEqual(1_000)
      }
    }),
    { examples: [[[999, 1_000].map((ms) => ({ id: '', endpointId: `${ms}`, attempt: 2, dueMs: NOW - ms + 60_000 }))]] },
  )
})

test('50 dispatches that failed at this moment wait for no others', () => {
  const rows = Array.from({ length: 70 }, (_, i) => ({ id: `${i}`, endpointId: 'a', attempt: 2, dueMs: NOW + 60_000 }))
  expect(groupDispatches(rows, NOW, LIMITS)).toEqual([rows.slice(0, 50)])
})

test('10,000 failures of one endpoint, 200 a second, make 200 groups', () => {
  const left = Array.from({ length: 10_000 }, (_, i) => ({
    id: String(i),
    endpointId: 'a',
    attempt: 2,
    dueMs: NOW + i * 5 + 60_000,
  }))
  let groups = 0
  for (let now = NOW; left.length > 0; now += 500) {
    const newGroups = groupDispatches(
      left.filter((row) => row.dueMs - 60_000 <= now),
      now,
      LIMITS,
    )
    groups += newGroups.length
    left.splice(0, newGroups.flat().length)
  }
  expect(groups).toBe(200)
})
