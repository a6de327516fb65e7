import { type Answer, encode, RECURSION_AVAILABLE } from 'dns-packet'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createQuery, type DnsQuery, readResponse } from '../../../mail/dns/dns-message.ts'
import { a, cname, mx, ns, txt } from '../../harness/dns.ts'

const HEADER_OCTETS = 12
const NAME = 'example.test'

const query = () => createQuery(NAME, 'MX', { recursion: true, dnssec: false, edns: false })

/** A response to the query that announces this many answers; their octets follow unchanged. */
function response({ bytes }: DnsQuery, count: number, answers: Buffer): Buffer {
  const message = Buffer.concat([bytes, answers])
  message.writeUInt16BE(0x8180, 2)
  message.writeUInt16BE(count, 6)
  return message
}

/** A record of `example.test` with any data, whose announced length may be wrong. */
function record(type: number, data: Buffer, length = data.length): Buffer {
  const head = Buffer.from([0xc0, HEADER_OCTETS, 0, type, 0, 1, 0, 0, 0, 60, length >> 8, length & 0xff])
  return Buffer.concat([head, data])
}

const name = fc
  .array(fc.stringMatching(/^[a-z0-9_-]{1,20}$/), { minLength: 1, maxLength: 4 })
  .map((labels) => labels.join('.'))
const answer: fc.Arbitrary<Answer> = fc.oneof(
  fc.tuple(name, fc.ipV4()).map(([owner, address]) => a(owner, address)),
  fc.tuple(name, fc.nat(65_535), name).map(([owner, preference, exchange]) => mx(owner, preference, exchange)),
  fc.tuple(name, name).map(([owner, target]) => cname(owner, target)),
  fc.tuple(name, name).map(([owner, target]) => ns(owner, target)),
  fc.tuple(name, fc.array(fc.string({ maxLength: 60 }))).map(([owner, strings]) => txt(owner, strings)),
)

test('the messages of another implementation are read correctly', () => {
  fc.assert(
    fc.property(fc.array(answer, { maxLength: 8 }), (answers) => {
      const asked = query()
      const message = encode({
        type: 'response',
        id: asked.bytes.readUInt16BE(0),
        flags: RECURSION_AVAILABLE,
        questions: [
          {
            type: 'MX',
            name: asked.bytes.toString('latin1', 13, 20).concat('.', asked.bytes.toString('latin1', 21, 25)),
          },
        ],
        answers,
      })
      const read = readResponse(message, asked)
      expect(read).toMatchObject({ rcode: 0, isTruncated: false, offersRecursion: true })
      expect((read as { answers: object[] }).answers).toEqual(answers.map(meaningOf))
    }),
  )
})

function meaningOf(written: Answer) {
  const { type, name, data } = written as { type: string; name: string; data: never }
  const of = { type, name, ttlS: 300 }
  if (type === 'A') return { ...of, address: data }
  if (type === 'MX') return { ...of, ...(data as object) }
  if (type === 'TXT')
    return { ...of, text: Buffer.concat((data as Buffer[]).map((part) => Buffer.from(part))).toString('latin1') }
  return { ...of, target: data }
}

test('IPv6 addresses are read in their short form', () => {
  const asked = query()
  const octets = Buffer.from('20010db8000000000000000000000001', 'hex')
  expect(readResponse(response(asked, 1, record(28, octets)), asked)).toMatchObject({
    answers: [{ type: 'AAAA', address: '2001:db8::1' }],
  })
})

const EXCHANGE = Buffer.from('\0\x0a\x02mx\x04test\0', 'latin1')
const MALFORMED: [string, Buffer][] = [
  ['an MX record without data', record(15, Buffer.alloc(0))],
  ['an MX record that ends after its preference', record(15, Buffer.from([0, 10]))],
  ['an MX record that is cut off, with the root behind it', record(15, Buffer.from([0, 10, 0]), 2)],
  ['an MX record whose name is cut off', record(15, EXCHANGE.subarray(0, 7))],
  ['an MX record with more than a name in it', record(15, Buffer.concat([EXCHANGE, Buffer.from([0])]))],
  ['an address of three octets', record(1, Buffer.from([192, 0, 2]))],
  ['an address of five octets', record(1, Buffer.from([192, 0, 2, 1, 1]))],
  ['a text that is shorter than it says', record(16, Buffer.from('\x05abc', 'latin1'))],
  ['an alias to nothing', record(5, Buffer.alloc(0))],
  ['a name that points to itself', record(5, Buffer.from([0xc0, 41]))],
  ['data beyond the end of the message', record(1, Buffer.from([192, 0]), 4)],
  ['fewer records than it says', Buffer.alloc(0)],
  ['a label of a kind that does not exist', record(5, Buffer.from([0x41, 0, 0]))],
  [
    'a name of 256 octets',
    record(5, Buffer.concat([...Array(5).fill(Buffer.from(`\x32${'a'.repeat(50)}`, 'latin1')), Buffer.alloc(1)])),
  ],
]

test.each(MALFORMED)('%s is malformed', (_, octets) => {
  const asked = query()
  expect(readResponse(response(asked, 1, octets), asked)).toBe('malformed')
})

test('a name of pointers to pointers is malformed, however long the chain is', () => {
  const asked = query()
  const pointers = Buffer.alloc(10_000)
  const start = asked.bytes.length + 12
  for (let at = 0; at < pointers.length; at += 2)
    pointers.writeUInt16BE(0xc000 | (at === 0 ? HEADER_OCTETS : start + at - 2), at)
  const longWay = record(5, Buffer.from([0xc0 | ((start + 9_998) >> 8), (start + 9_998) & 0xff]))
  const message = response(asked, 2, Buffer.concat([record(99, pointers), longWay]))
  expect(readResponse(message, asked)).toBe('malformed')
})

test('octets of a name other than letters, digits and hyphens are escaped', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 60 }), (label) => {
      const asked = query()
      const data = Buffer.concat([Buffer.from([0, 10, label.length]), label, Buffer.from('\x04test\0', 'latin1')])
      const { answers } = readResponse(response(asked, 1, record(15, data)), asked) as {
        answers: { exchange: string }[]
      }
      expect(answers[0]!.exchange).toMatch(/^(?:[!-[\]-~]|\\\d{3}|\\[.\\])+$/)
      expect(answers[0]!.exchange.replace(/\\\d{3}|\\./g, 'x').split('.')).toHaveLength(2)
    }),
  )
})

test('any octets are a response, no response or malformed, and never throw', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), fc.nat(20), (octets, count) => {
      const asked = query()
      readResponse(Buffer.from(octets), asked)
      const read = readResponse(response(asked, count, Buffer.from(octets)), asked)
      expect(read === 'malformed' || read!.answers.length <= count).toBe(true)
    }),
    { numRuns: 2_000 },
  )
})
