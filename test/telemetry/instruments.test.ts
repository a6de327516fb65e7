import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Counter, createInstrument, type Definition, type Histogram } from '../../server/telemetry/instruments.ts'

const counterOf = (labels: Definition['labels']) =>
  createInstrument({ kind: 'counter', name: 'n_total', help: '', labels }) as Counter<Record<string, string>>

test('a counter adds up by labels, and shows the known series with zeros from the start', () => {
  const counter = counterOf({ color: ['red', 'blue'] })
  counter.add({ color: 'red' })
  counter.add({ color: 'red' }, 2)
  expect(counter.points()).toEqual([
    { labels: ['red'], value: 3 },
    { labels: ['blue'], value: 0 },
  ])
})

test('a histogram counts a value in the first bucket whose bound it does not exceed', () => {
  const definition: Definition = { kind: 'histogram', name: 'n', help: '', bounds: [1, 2] }
  const histogram = createInstrument(definition) as unknown as Histogram<Record<string, string>>
  for (const value of [0, 1, 1.5, 2, 2.1]) histogram.observe({}, value)
  expect(histogram.points()).toEqual([{ labels: [], value: 6.6, counts: [2, 2, 1] }])
})

test('whatever the labels are, the number of series stays within the bounds of the definition', () => {
  fc.assert(
    fc.property(fc.array(fc.record({ a: fc.string(), b: fc.string() }), { maxLength: 200 }), (all) => {
      const counter = counterOf({ a: 3, b: ['x', 'y'] })
      for (const labels of all) counter.add(labels)
      const points = counter.points()
      expect(points.length).toBeLessThanOrEqual((3 + 1) * (2 + 1))
      expect(points.reduce((sum, { value }) => sum + value, 0)).toBe(all.length)
    }),
  )
})
