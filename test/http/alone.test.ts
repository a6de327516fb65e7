import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type SendBatchRequest, SendBatchRequestSchema } from '../../gen/verdict/v1/emails_pb.ts'
import { textFaults } from '../../server/http/body/text.ts'
import { readJsonMessage } from '../../server/http/rest/json-reader.ts'

// Lists whose elements are independent.

const GOOD = { to: 'ann@example.net', from: 'a@example.test', subject: 'Hello', text: 'Hi' }

function read(emails: unknown) {
  const { message, faults } = readJsonMessage(SendBatchRequestSchema, { emails })
  return { emails: (message as SendBatchRequest)?.emails, message, faults: faults.fields, itemFaults: faults.items }
}

test('an element with faults keeps its place in the list, and the valid ones are read', () => {
  const element = fc.oneof(
    fc.jsonValue(),
    fc.constant(GOOD),
    fc.record({ to: fc.jsonValue(), subject: fc.jsonValue(), headers: fc.jsonValue(), attachments: fc.jsonValue() }),
  )
  fc.assert(
    fc.property(fc.array(element, { maxLength: 20 }), (elements) => {
      const { emails, message, faults, itemFaults } = read(elements)
      expect([emails.length, faults]).toEqual([elements.length, []])
      for (const [index, email] of elements.entries()) {
        if (email !== GOOD) continue
        expect(itemFaults.has(index)).toBe(false)
        expect(emails[index]).toMatchObject({ ...GOOD, to: [GOOD.to] })
      }
      for (const index of itemFaults.keys()) expect(emails[index]).toMatchObject({ to: [], from: '', subject: '' })
      expect(textFaults(SendBatchRequestSchema, message).fields).toEqual([])
    }),
  )
})

test('paths begin within the element; an element that is not an object is named itself', () => {
  const { itemFaults } = read([GOOD, { to: [1], headers: { a: 1 } }, 7])
  expect([...itemFaults].map(([index, faults]) => [index, faults.map(({ field }) => field)])).toEqual([
    [1, ['to[0]', 'headers["a"]']],
    [2, ['emails[2]']],
  ])
})

test('text that nothing can store is reported for each element', () => {
  const { message } = read([GOOD, { ...GOOD, subject: '\0' }, { ...GOOD, headers: { 'X-A': '\ud800' } }])
  const { fields, items } = textFaults(SendBatchRequestSchema, message)
  expect(fields).toEqual([])
  expect([...items].map(([index, faults]) => [index, faults[0]!.field])).toEqual([
    [1, 'subject'],
    [2, 'headers["X-A"]'],
  ])
})
