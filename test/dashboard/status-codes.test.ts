import { expect, test } from 'vitest'
import { meaningOf } from '../../dashboard/messages/status-codes.ts'

test.for([
  [550, '5.1.1', '5.1.1', 'Refused for good: the mailbox does not exist.', 'rfc3463#section-3.2'],
  [452, '4.2.2', '4.2.2', 'Not now: the mailbox is full.', 'rfc3463#section-3.3'],
  [550, '5.7.26', '5.7.26', 'Refused for good: several ways of authentication failed.', 'rfc7372#section-3.4'],
  [556, '5.1.10', '5.1.10', 'Refused for good: the domain takes no mail (null MX).', 'rfc7505#section-4'],
  [250, '2.0.0', '2.0.0', 'Accepted: no further detail.', 'rfc3463#section-3.1'],
  // A provider's own detail has the meaning of its subject.
  [550, '5.7.509', '5.7.509', 'Refused for good: something about security or policy.', 'rfc3463#section-3.8'],
  [421, undefined, '421', 'Not now: the server closes the connection', 'rfc5321#section-4.2.3'],
  [550, 'nonsense', '550', 'Refused for good: the mailbox is not available', 'rfc5321#section-4.2.3'],
  [550, '5.99.1', '550', 'Refused for good: the mailbox is not available', 'rfc5321#section-4.2.3'],
] as const)('%i %s is explained', ([code, enhanced, shown, meaning, url]) => {
  const found = meaningOf(code, enhanced)!
  expect(found.code).toBe(shown)
  expect(found.meaning).toContain(meaning)
  expect(found.url).toBe(`https://www.rfc-editor.org/rfc/${url}`)
})

test('a code that no document explains has no meaning', () => {
  expect(meaningOf(599, undefined)).toBeUndefined()
  expect(meaningOf(undefined, undefined)).toBeUndefined()
  expect(meaningOf(354, '3.0.0')).toBeUndefined()
})
