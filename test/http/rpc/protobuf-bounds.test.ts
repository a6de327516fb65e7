import { create, type DescMessage, fromBinary, type Message, toBinary } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EmailService, SendBatchRequestSchema, SendRequestSchema } from '../../../gen/verdict/v1/emails_pb.ts'
import { EventService } from '../../../gen/verdict/v1/events_pb.ts'
import { StatsService } from '../../../gen/verdict/v1/stats_pb.ts'
import { SuppressionService, SuppressionServiceImportRequestSchema } from '../../../gen/verdict/v1/suppression_pb.ts'
import { reasonOf } from '../../../server/errors.ts'
import { MAX_OBJECTS, MAX_VALUES } from '../../../server/http/body/request-bounds.ts'
import { checkProtobuf } from '../../../server/http/rpc/protobuf-bounds.ts'

const REQUESTS = [EmailService, EventService, StatsService, SuppressionService].flatMap(({ methods }) =>
  methods.map(({ input }) => input),
)

/** The counts, or the error code of the refusal. Rethrows anything else. */
function checked(desc: DescMessage, bytes: Uint8Array) {
  try {
    const { values, objects } = checkProtobuf(desc, bytes)
    return { values, objects }
  } catch (error) {
    const reason = reasonOf(error)
    if (!reason) throw error
    return reason
  }
}

/** How many values and messages the library created, without the message itself. Map entries are values. */
function madeOf(value: unknown): { values: number; objects: number } {
  const made = { values: 0, objects: 0 }
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return made
  for (const [name, inner] of Object.entries(value)) {
    if (name === '$typeName' || inner === undefined) continue
    const inside = madeOf(inner)
    const isMessage = typeof inner === 'object' && inner !== null && '$typeName' in inner
    made.values += inside.values + (Array.isArray(value) || isMessage ? 1 : 0)
    made.objects += inside.objects + (isMessage ? 1 : 0)
  }
  return made
}

/** Tags, lengths and values with a meaning here, and arbitrary bytes. */
const piece = fc.oneof(
  fc.uint8Array({ maxLength: 6 }),
  fc
    .record({
      number: fc.integer({ min: 1, max: 20 }),
      type: fc.integer({ min: 0, max: 5 }),
      rest: fc.uint8Array({ maxLength: 12 }),
    })
    .map(({ number, type, rest }) => Uint8Array.of(...varint(number * 8 + type), ...varint(rest.length), ...rest)),
  fc.constantFrom(Buffer.from('3a00', 'hex'), Buffer.from('0a00', 'hex'), Buffer.from('8080808080808080808001', 'hex')),
)

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)]
}

test('any bytes are refused as invalid_payload or parsed, and the library creates no more than was counted', () => {
  fc.assert(
    fc.property(fc.constantFrom(...REQUESTS), fc.array(piece, { maxLength: 12 }), (desc, pieces) => {
      const bytes = Buffer.concat(pieces)
      const counted = checked(desc, bytes)
      if (typeof counted === 'string') {
        expect(counted).toBe('invalid_payload')
        return
      }
      let message: Message
      try {
        message = fromBinary(desc, bytes)
      } catch {
        return // The library refuses it: text that is not UTF-8.
      }
      const made = madeOf(message)
      expect(made.objects).toBeLessThanOrEqual(counted.objects)
      expect(made.values).toBeLessThanOrEqual(counted.values)
    }),
    { numRuns: 3_000 },
  )
})

const text = fc.string({ unit: 'grapheme', maxLength: 12 })
const attachment = fc.record({ filename: text, content: fc.uint8Array({ maxLength: 20 }) })
const email = fc.record({
  to: fc.array(text, { maxLength: 4 }),
  from: text,
  subject: text,
  html: fc.option(text, { nil: undefined }),
  attachments: fc.array(attachment, { maxLength: 4 }),
  headers: fc.dictionary(text, text, { maxKeys: 4 }),
})

test('every message that a client can write passes', () => {
  fc.assert(
    fc.property(fc.array(email, { maxLength: 4 }), (emails) => {
      const message = create(SendBatchRequestSchema, { emails })
      expect(checked(SendBatchRequestSchema, toBinary(SendBatchRequestSchema, message))).toMatchObject({
        values: expect.any(Number),
      })
    }),
  )
})

test('the largest requests of the contract pass: a full batch and an import of 10,000', () => {
  const fifty = Array.from({ length: 50 }, (_, i) => `ann.${i}@example.com`)
  const full = {
    to: fifty,
    cc: fifty,
    bcc: fifty,
    from: 'a@b.example',
    subject: 'Hello',
    html: 'Hello',
    text: 'Hello',
    replyTo: fifty.slice(0, 10),
    attachments: Array.from({ length: 10 }, () => ({
      filename: 'a.txt',
      content: Buffer.from('a'),
      contentType: 'text/plain',
      contentId: 'a',
    })),
    metadata: Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`k${i}`, 'a'])),
    tag: 'a',
    headers: Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`X-${i}`, 'a'])),
    tenantId: 'a',
    idempotencyKey: 'a',
  }
  const batch = create(SendBatchRequestSchema, { emails: Array.from({ length: 100 }, () => full) })
  const emails = Array.from({ length: 10_000 }, (_, i) => `ann.${i}@example.com`)
  const imported = create(SuppressionServiceImportRequestSchema, { emails })
  checkProtobuf(SendBatchRequestSchema, toBinary(SendBatchRequestSchema, batch))
  checkProtobuf(SuppressionServiceImportRequestSchema, toBinary(SuppressionServiceImportRequestSchema, imported))
})

const repeated = (hex: string, times: number) => Buffer.alloc((hex.length / 2) * times, Buffer.from(hex, 'hex'))

test.each([
  ['empty attachments', SendRequestSchema, '3a00', 'objects'],
  ['empty items of a batch', SendBatchRequestSchema, '0a00', 'objects'],
  ['empty recipients', SendRequestSchema, '0a00', 'names and values'],
  ['empty headers', SendRequestSchema, '4200', 'names and values'],
  ['unknown numbers', SendRequestSchema, 'a80100', 'names and values'],
  ['unknown texts', SendRequestSchema, 'aa0100', 'names and values'],
] as const)('too many %s are refused before one is made', (_, desc, hex, words) => {
  const most = words === 'objects' ? MAX_OBJECTS : MAX_VALUES
  expect(() => checkProtobuf(desc, repeated(hex, most))).not.toThrow()
  expect(() => checkProtobuf(desc, repeated(hex, most + 1))).toThrow(words)
})

test.each([
  ['a known field of another wire type', '3805'],
  ['a field that ends after its message', '3a030a7f00'],
  ['a length beyond the end', '0a7f'],
  ['a varint without an end', 'a801ffff'],
  ['a varint of eleven bytes', 'a801ffffffffffffffffffff01'],
  ['a tag of more than 32 bits', 'ffffffff7f'],
  ['a field with the number 0', '0000'],
  ['a group', 'ab01ac01'],
])('%s is refused', (_, hex) => {
  expect(checked(SendRequestSchema, Buffer.from(hex, 'hex'))).toBe('invalid_payload')
})
