import fc from 'fast-check'
import { expect, test } from 'vitest'
import { concernedBy, type HistoryRecipient } from '../../server/inbound/concerned.ts'

const messageId = '01900000-0000-7000-8000-000000000000'
const to = (...emails: string[]): HistoryRecipient[] =>
  emails.map((email, position) => ({
    messageId,
    email,
    position,
    status: 'delivered',
    kind: 'to',
    mayHaveIt: true,
    mx: null,
  }))
const domainOf = (email: string) => email.slice(email.lastIndexOf('@') + 1).toLowerCase()

const anyEmail = fc
  .record({
    local: fc.constantFrom('ann', 'Bob', 'cy'),
    domain: fc.constantFrom('a.test', 'A.TEST', 'b.test', 'c.test'),
  })
  .map(({ local, domain }) => `${local}@${domain}`)

test('whatever a report names, it is about a recipient of the domain that its return path names, or about none', () => {
  const anyMessage = fc.uniqueArray(anyEmail, { minLength: 1, maxLength: 8 })
  const anyReport = fc.array(fc.oneof(anyEmail, fc.string()), { maxLength: 4 })
  fc.assert(
    fc.property(
      anyMessage,
      fc.nat({ max: 9 }),
      anyReport,
      fc.infiniteStream(fc.boolean()),
      (emails, position, named, mayHave) => {
        const recipients = to(...emails).map((each) => ({ ...each, mayHaveIt: mayHave.next().value }))
        const found = concernedBy({ messageId, position }, recipients).find(named)
        if (!found) return
        expect(domainOf(found.email)).toBe(domainOf(emails[position]!))
        expect(found.mayHaveIt).toBe(true)
      },
    ),
  )
})

test('a report may name any recipient of the domain that its return path names', () => {
  const recipients = to('ann@a.test', 'Bob@A.TEST', 'cy@b.test')
  const { find, isShared } = concernedBy({ messageId, position: 0 }, recipients)
  expect(['ANN@a.test', 'bob@a.test', 'cy@b.test'].map((email) => find([email]))).toEqual([
    recipients[0],
    recipients[1],
    undefined,
  ])
  expect(isShared).toBe(true)
})

test('a position is one of the message that the return path names, and not of those that retry it', () => {
  const [retried] = to('bob@b.test')
  const [ann] = to('ann@a.test')
  const recipients = [{ ...retried!, messageId: '01900000-0000-7000-8000-000000000001' }, ann!]
  expect(concernedBy({ messageId, position: 0 }, recipients).find(['redacted'])).toBe(ann)
})

test('an erased address speaks for itself alone, and while one that may have the message is erased no other recipient is taken for the only one', () => {
  const recipients = to('erased-1@erased.invalid', 'bob@a.test', 'erased-2@erased.invalid')
  expect(concernedBy({ messageId, position: 0 }, recipients).find(['bob@a.test'])).toBeUndefined()
  expect(concernedBy({ messageId, position: 0 }, recipients).find(['erased-2@erased.invalid'])).toBeUndefined()
  expect(concernedBy({ messageId, position: 1 }, recipients).find(['redacted'])).toBeUndefined()
  expect(concernedBy({ messageId, position: 1 }, recipients).find(['bob@a.test'])).toBe(recipients[1])
  const [unreached] = to('erased-1@erased.invalid')
  const [, cy] = to('erased-2@erased.invalid', 'cy@a.test')
  const withUnreached = [{ ...unreached!, mayHaveIt: false }, cy!]
  expect(concernedBy({ messageId, position: 1 }, withUnreached).find(['redacted'])).toBe(cy)
  const [only] = to('erased-1@erased.invalid')
  expect(concernedBy({ messageId, position: 0 }, [only!]).find(['redacted'])).toBe(only)
})

test('a return path without a position concerns every recipient, and is shared where there are several', () => {
  const recipients = to('ann@a.test', 'bob@b.test')
  const concerned = concernedBy({ messageId }, recipients)
  expect(concerned.find(['bob@b.test'])).toBe(recipients[1])
  expect(concerned.isShared).toBe(true)
  expect(concernedBy({ messageId }, to('ann@a.test')).isShared).toBe(false)
  expect(concernedBy({ messageId, position: 0 }, recipients).isShared).toBe(false)
})
