import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { TlsaRecord } from '../../../mail/dns/dns-message.ts'
import { usableRecords } from '../../../mail/smtp/tlsa.ts'

const digestOf = (octets: number) => 'ab'.repeat(octets)
const record = (usage: number, selector: number, matching: number, data: string): TlsaRecord =>
  ({ usage, selector, matching, data }) as TlsaRecord

const digests = fc.record({
  usage: fc.nat(4),
  selector: fc.nat(2),
  matching: fc.constantFrom(1, 2, 3),
  octets: fc.constantFrom(32, 64, 48),
})

test('a digest counts with fields that SMTP knows, in its length, and SHA-256 only without SHA-512 beside it', () => {
  fc.assert(
    fc.property(fc.array(digests), (all) => {
      const records = all.map(({ usage, selector, matching, octets }) =>
        record(usage, selector, matching, digestOf(octets)),
      )
      const known = records.filter(
        ({ usage, selector, matching, data }) =>
          [2, 3].includes(usage) && selector < 2 && data === { 1: digestOf(32), 2: digestOf(64) }[matching],
      )
      const strong = new Set(known.flatMap((each) => (each.matching === 2 ? [`${each.usage} ${each.selector}`] : [])))
      const expected = known.filter((each) => each.matching === 2 || !strong.has(`${each.usage} ${each.selector}`))
      expect(usableRecords(records)).toEqual(expected)
    }),
    { numRuns: 500 },
  )
})

test('a whole certificate or key counts only where it can be read', () => {
  for (const selector of [0, 1]) expect(usableRecords([record(2, selector, 0, 'abcd')])).toEqual([])
})
