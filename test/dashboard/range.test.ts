import { expect, test } from 'vitest'
import { rangeOf } from '../../dashboard/overview/range.ts'
import { Granularity } from '../../gen/verdict/v1/stats_pb.ts'

const NOW = Date.parse('2026-11-26T12:34:56.789Z')
const iso = (ms: number) => new Date(ms).toISOString()

test.each([
  ['an hour has minutes', { range: '1h' }, '2026-11-26T11:35:00.000Z', '2026-11-26T12:35:00.000Z', Granularity.MINUTE],
  [
    'six hours have minutes',
    { from: '2026-11-26T01:00:30Z', to: '2026-11-26T07:00:30Z' },
    '2026-11-26T01:01:00.000Z',
    '2026-11-26T07:01:00.000Z',
    Granularity.MINUTE,
  ],
  [
    'more than six hours have hours',
    { from: '2026-11-26T01:00:30Z', to: '2026-11-26T07:00:31Z' },
    '2026-11-26T01:00:00.000Z',
    '2026-11-26T08:00:00.000Z',
    Granularity.HOUR,
  ],
  [
    'an hour of last week has hours: its minutes are gone',
    { from: '2026-11-19T01:00:00Z', to: '2026-11-19T02:00:00Z' },
    '2026-11-19T01:00:00.000Z',
    '2026-11-19T02:00:00.000Z',
    Granularity.HOUR,
  ],
  ['a month has days', { range: '30d' }, '2026-10-27T00:00:00.000Z', '2026-11-27T00:00:00.000Z', Granularity.DAY],
  ['no range is a day', {}, '2026-11-25T12:00:00.000Z', '2026-11-26T13:00:00.000Z', Granularity.HOUR],
] as const)('%s', (_, search, from, to, granularity) => {
  const range = rangeOf(search, NOW)
  expect([iso(range.fromMs), iso(range.toMs), range.granularity]).toEqual([from, to, granularity])
})
