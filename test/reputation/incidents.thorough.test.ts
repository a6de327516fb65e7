import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Kind } from '../../mail/smtp/attempt.ts'
import { type DueEntry, dueEntry, type Refusal } from '../../server/reputation/incidents.ts'

const NOW = Date.parse('2026-11-21T12:00:00Z')
const DAY = 86_400_000
const KINDS: readonly Kind[] = ['unknown', 'status', 'refused', 'full']

const ago = (kind: Kind, days: number): Refusal => ({ kind, atMs: NOW - days * DAY })
const due = (kind: Kind, refusals: Refusal[] = [], deliveredDaysAgo?: number) =>
  dueEntry(
    kind,
    { refusals, ...(deliveredDaysAgo !== undefined && { lastDeliveredMs: NOW - deliveredDaysAgo * DAY }) },
    NOW,
  )
const lasts = (entry: DueEntry | undefined) => (entry ? (entry.days ?? Infinity) : 0)

test.each<[string, DueEntry | undefined, Kind, Refusal[], number?]>([
  ['an unknown address goes for good at the first incident', { kind: 'unknown', days: null }, 'unknown', []],
  ['one that took mail goes for 7 days', { kind: 'unknown', days: 7 }, 'unknown', [], 89],
  ['and for good at a later incident', { kind: 'unknown', days: null }, 'unknown', [ago('unknown', 8)], 9],
  ['a status alone does not suppress', undefined, 'status', []],
  ['but at the second incident, for 30 days', { kind: 'status', days: 30 }, 'status', [ago('unknown', 29)], 40],
  ['a weaker incident is none of this kind', { kind: 'refused', days: 30 }, 'status', [ago('refused', 5)]],
  ['an incident of 30 days ago is over', undefined, 'refused', [ago('refused', 30)]],
  ['a full mailbox counts three times', undefined, 'full', [ago('full', 2)]],
  ['and goes for 7 days then', { kind: 'full', days: 7 }, 'full', [ago('full', 4), ago('refused', 2)]],
  ['a delivery ends what was before it', undefined, 'refused', [ago('refused', 5)], 4],
])('%s', (_, entry, kind, refusals, delivered) => {
  expect(due(kind, refusals, delivered)).toEqual(entry)
})

const histories = fc.record({
  kind: fc.constantFrom(...KINDS),
  refusals: fc.array(
    fc.record({ kind: fc.constantFrom(...KINDS), atMs: fc.integer({ min: NOW - 120 * DAY, max: NOW }) }),
    { maxLength: 12 },
  ),
  lastDeliveredMs: fc.option(fc.integer({ min: NOW - 90 * DAY, max: NOW - 1 }), { nil: undefined }),
})

test('an address that took mail is never suppressed for good within a day of its first refusal', () => {
  fc.assert(
    fc.property(histories, ({ kind, refusals, lastDeliveredMs = NOW - DAY }) => {
      const recent = refusals.filter(({ atMs }) => atMs <= lastDeliveredMs || atMs > NOW - DAY)
      expect(lasts(dueEntry(kind, { refusals: recent, lastDeliveredMs }, NOW))).toBeLessThan(Infinity)
    }),
  )
})

test('reports, whenever they come, of mail sent within a day of the first refusal are one incident', () => {
  const day = fc.integer({ min: 0, max: DAY - 1 })
  const reports = fc.array(fc.record({ sentMs: day, lateMs: fc.integer({ min: 0, max: 30 * DAY }) }), { minLength: 1 })
  fc.assert(
    fc.property(fc.constantFrom(...KINDS), reports, (kind, late) => {
      const first = { kind, atMs: NOW }
      const inOrder = late
        .map(({ sentMs, lateMs }) => ({ kind, sentMs: NOW + sentMs, atMs: NOW + sentMs + lateMs }))
        .toSorted((a, b) => a.atMs - b.atMs)
      for (const [i, { sentMs, atMs }] of inOrder.entries()) {
        const history = { refusals: [first, ...inOrder.slice(0, i)], lastDeliveredMs: NOW - DAY }
        expect(lasts(dueEntry(kind, history, atMs, { sentMs }))).toBe(
          lasts(dueEntry(kind, { ...history, refusals: [] }, atMs)),
        )
      }
    }),
  )
})

test('a refusal more within an incident, of its kind or a weaker one, changes nothing', () => {
  fc.assert(
    fc.property(histories, fc.integer({ min: 0, max: DAY - 1 }), ({ kind, ...history }, laterMs) => {
      const before = dueEntry(kind, history, NOW)
      const more = history.refusals.map(({ kind, atMs }) => ({ kind, atMs: Math.min(NOW, atMs + laterMs) }))
      // A repeat may begin an incident where the first one has ended.
      for (const [i, repeat] of more.entries()) {
        const first = history.refusals[i]!
        const isFirst = !history.refusals.some(({ atMs }) => atMs < first.atMs)
        if (!isFirst || first.atMs <= (history.lastDeliveredMs ?? NOW - 90 * DAY)) continue
        expect(dueEntry(kind, { ...history, refusals: [...history.refusals, repeat] }, NOW)).toEqual(before)
      }
    }),
  )
})

test('a stronger refusal never suppresses for less time than a weaker one', () => {
  fc.assert(
    fc.property(histories, ({ kind, ...history }) => {
      const all = KINDS.map((each) => lasts(dueEntry(each, history, NOW)))
      expect(all).toEqual(all.toSorted((a, b) => b - a))
      expect(kind).toBeDefined()
    }),
  )
})

test('a delivery never makes a refusal count more', () => {
  fc.assert(
    fc.property(histories, ({ kind, refusals, lastDeliveredMs }) => {
      const delivered = lasts(dueEntry(kind, { refusals, lastDeliveredMs }, NOW))
      expect(delivered).toBeLessThanOrEqual(lasts(dueEntry(kind, { refusals }, NOW)))
    }),
  )
})
