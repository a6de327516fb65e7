import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LATENCY_BOUNDS_MS } from '../../server/db/latency-buckets.ts'
import { STATS_COUNTS } from '../../server/db/schema.ts'
import { REPORT_COUNTS, SEND_COUNTS } from '../../server/reputation/counts.ts'
import { latencyPercentile } from '../../server/reputation/statistics.ts'

const BUCKETS = LATENCY_BOUNDS_MS.length + 1
/** Bucket 5 holds latencies from 20 to 30 ms, bucket 6 those to 46 ms. */
const latencies = (counts: Record<number, number>) =>
  Array.from({ length: BUCKETS }, (_, bucket) => counts[bucket] ?? 0)

test('percentiles are interpolated inside their bucket', () => {
  expect(latencyPercentile(latencies({ 5: 10 }), 0.5)).toBe(25)
  expect(latencyPercentile(latencies({ 5: 50, 6: 50 }), 0.5)).toBe(30)
  expect(latencyPercentile(latencies({ 5: 50, 6: 50 }), 0.75)).toBe(38)
  expect(latencyPercentile(latencies({ 0: 100 }), 0.5)).toBe(2)
})

test('without emails there is no percentile', () => {
  expect(latencyPercentile(latencies({}), 0.99)).toBeUndefined()
})

test('above the last bound the percentile is that bound', () => {
  expect(latencyPercentile(latencies({ [BUCKETS - 1]: 3 }), 0.5)).toBe(LATENCY_BOUNDS_MS.at(-1))
})

test('a percentile lies in the same bucket as the exact one', () => {
  const longest = LATENCY_BOUNDS_MS.at(-1)!
  const many = fc.array(fc.integer({ min: 0, max: longest - 1 }), { minLength: 1, maxLength: 200 })
  fc.assert(
    fc.property(many, fc.constantFrom(0.5, 0.95, 0.99), (values, share) => {
      const bucketOf = (ms: number) => LATENCY_BOUNDS_MS.findIndex((bound) => ms < bound)
      const counts = latencies({})
      for (const ms of values) counts[bucketOf(ms)]!++
      const exact = values.toSorted((a, b) => a - b)[Math.ceil(share * values.length) - 1]!
      const bucket = bucketOf(exact)
      const found = latencyPercentile(counts, share)!
      expect(found).toBeGreaterThanOrEqual(LATENCY_BOUNDS_MS[bucket - 1] ?? 0)
      expect(found).toBeLessThanOrEqual(LATENCY_BOUNDS_MS[bucket]!)
    }),
  )
})

test('each column of the statistics is counted by sends or by reports', () => {
  const columns = [...SEND_COUNTS, ...REPORT_COUNTS].map(({ column }) => column)
  expect(columns.toSorted()).toEqual(STATS_COUNTS.toSorted())
})
