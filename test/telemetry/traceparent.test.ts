import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readTraceparent, spanIdsOf, traceparentOf } from '../../server/telemetry/traceparent.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'

test('a traceparent of version 00 is read as it is', () => {
  expect(readTraceparent(`00-${TRACE}-${SPAN}-01`)).toBe(`00-${TRACE}-${SPAN}-01`)
})

test('a later version is read by what it shares with version 00, and flags without a meaning are dropped', () => {
  expect(readTraceparent(`cc-${TRACE}-${SPAN}-01-what-the-future-will-be-like`)).toBe(`00-${TRACE}-${SPAN}-01`)
  expect(readTraceparent(`01-${TRACE}-${SPAN}-01`)).toBe(`00-${TRACE}-${SPAN}-01`)
  expect(readTraceparent(`00-${TRACE}-${SPAN}-ff`)).toBe(`00-${TRACE}-${SPAN}-03`)
})

test.for([
  ['', 'nothing'],
  [`00-${TRACE}-${SPAN}`, 'no flags'],
  [`00-${TRACE}-${SPAN}-01-more`, 'more than version 00 has'],
  [`ff-${TRACE}-${SPAN}-01`, 'the version that is not valid'],
  [`00-${'0'.repeat(32)}-${SPAN}-01`, 'a trace id of zeros'],
  [`00-${TRACE}-${'0'.repeat(16)}-01`, 'a span id of zeros'],
  [`00-${TRACE.toUpperCase()}-${SPAN}-01`, 'upper case'],
  [`00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`, 'two headers'],
  [`00-${TRACE}-${SPAN}-01\r\nx: y`, 'a line break'],
  [`01-${TRACE}-${SPAN}-01-${'x'.repeat(10_000)}`, 'ten thousand characters'],
])('%s is no traceparent: %s', ([header]) => {
  expect(readTraceparent(header)).toBeUndefined()
})

test('several headers are none', () => {
  expect(readTraceparent([`00-${TRACE}-${SPAN}-01`, `00-${TRACE}-${SPAN}-01`])).toBeUndefined()
  expect(readTraceparent(undefined)).toBeUndefined()
})

test('any text is read as a traceparent in its one form, or not at all', () => {
  const nearly = fc
    .tuple(
      fc.constantFrom('00', '01', 'ff', '0'),
      fc.stringMatching(/^[0-9a-f]{30,34}$/),
      fc.stringMatching(/^[0-9a-fA-F]{16}$/),
      fc.stringMatching(/^[0-9a-f]{2}$/),
      fc.string(),
    )
    .map(([version, trace, span, flags, more]) => `${version}-${trace}-${span}-${flags}${more}`)
  fc.assert(
    fc.property(fc.oneof(fc.string(), nearly), (header) => {
      const read = readTraceparent(header)
      if (read === undefined) return
      expect(read).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-0[0-3]$/)
      expect(readTraceparent(read)).toBe(read)
      expect(traceparentOf(spanIdsOf(read))).toBe(read)
    }),
  )
})
