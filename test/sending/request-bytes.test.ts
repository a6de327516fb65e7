import { clone, create } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SendBatchRequestSchema } from '../../gen/verdict/v1/emails_pb.ts'
import { AttemptSchema } from '../../gen/verdict/v1/events_pb.ts'
import { requestBytes } from '../../server/sending/request-bytes.ts'

const email = fc.record({
  subject: fc.string({ maxLength: 5 }),
  to: fc.array(fc.string({ maxLength: 3 }), { maxLength: 3 }),
  metadata: fc.dictionary(fc.string({ maxLength: 3 }), fc.string({ maxLength: 3 }), { maxKeys: 4 }),
})
const batch = fc.array(email, { minLength: 1, maxLength: 3 })
type Emails = typeof batch extends fc.Arbitrary<infer Value> ? Value : never
const bytesOf = (emails: Emails) =>
  Buffer.from(requestBytes(SendBatchRequestSchema, create(SendBatchRequestSchema, { emails })))

test('equal requests have equal bytes, in whichever order the entries of their maps come', () => {
  fc.assert(
    fc.property(batch, (emails) => {
      const turned = emails.map(({ metadata, ...email }) => ({
        ...email,
        metadata: Object.fromEntries(Object.entries(metadata).reverse()),
      }))
      expect(bytesOf(turned)).toEqual(bytesOf(emails))
    }),
  )
})

test('requests that differ in anything but such an order have other bytes', () => {
  fc.assert(
    fc.property(batch, batch, (one, other) => {
      const areEqual = JSON.stringify(sorted(one)) === JSON.stringify(sorted(other))
      expect(bytesOf(one).equals(bytesOf(other))).toBe(areEqual)
    }),
  )
})

test('the order of a map is of no meaning in a message within the message either', () => {
  const bytesWith = (headers: Record<string, string>) =>
    Buffer.from(requestBytes(AttemptSchema, create(AttemptSchema, { number: 1, request: { headers } })))
  expect(bytesWith({ a: '1', b: '2' })).toEqual(bytesWith({ b: '2', a: '1' }))
  expect(bytesWith({ a: '1', b: '2' })).not.toEqual(bytesWith({ a: '2', b: '1' }))
})

test('the request itself stays as it came', () => {
  const request = create(SendBatchRequestSchema, { emails: [{ metadata: { b: '1', a: '2' } }] })
  const before = clone(SendBatchRequestSchema, request)
  requestBytes(SendBatchRequestSchema, request)
  expect(Object.keys(request.emails[0]!.metadata)).toEqual(['b', 'a'])
  expect(request).toEqual(before)
})

const sorted = (emails: Emails) =>
  emails.map(({ metadata, ...email }) => ({ ...email, metadata: Object.entries(metadata).sort() }))
