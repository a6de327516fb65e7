import { expect, test } from 'vitest'
import { headerFault, MAX_HEADER_VALUE } from '../../../mail/mime/custom-headers.ts'
import { words } from '../../harness/text.ts'
import { basic, build, headerNames } from './building.ts'

test.each([
  ['X-Order', '42'],
  ['List-Unsubscribe', '<https://example.com/u?id=1>, <mailto:u@example.com>'],
  ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'],
  ['In-Reply-To', '<a@example.com>'],
  ['Feedback-ID', 'a:b:c:d'],
  ['X-Empty', ''],
  ['X-Name', 'Jürgen 👋'],
  ['X-Contents', 'the prefix is Content-, with its hyphen'],
  ["!#$%&'*+-.^_`|~{}", 'x'],
  ['A'.repeat(76), 'x'.repeat(MAX_HEADER_VALUE)],
  ['__proto__', 'x'],
])('%s: %s can be sent', (name, value) => {
  expect(headerFault(name, value)).toBeUndefined()
})

test.each(['', ' ', 'X Y', 'X:Y', 'X-Y:', 'X\r\nBcc', 'X\n', 'X\0', 'X\t', 'Ü', 'X\x7f', 'A'.repeat(77)])(
  '%j is not the name of a header',
  (name) => {
    expect(headerFault(name, 'x')).toBe(
      'must have a name of 1 to 76 printable ASCII characters without space and colon',
    )
  },
)

test.each(
  words(`
  From To Cc Bcc Sender Reply-To Subject Date Message-ID Return-Path Received DKIM-Signature MIME-Version Content-Type
  Content-Transfer-Encoding Content-Anything Resent-To Resent-Bcc ARC-Seal Authentication-Results Received-SPF
  DomainKey-Signature Delivered-To
`),
)('%s is refused in any case', (name) => {
  for (const spelling of [name, name.toLowerCase(), name.toUpperCase()])
    expect(headerFault(spelling, 'x')).toMatch(/^cannot be set by a custom header/)
})

test('a header that a field sets is refused with the name of the field', () => {
  expect(headerFault('Reply-To', 'x')).toBe('cannot be set by a custom header; use the field reply_to')
  expect(headerFault('SUBJECT', 'x')).toBe('cannot be set by a custom header; use the field subject')
  expect(headerFault('Date', 'x')).toBe('cannot be set by a custom header')
})

test.each(['a\r\nBcc: x@example.com', 'a\nb', 'a\rb', '\r\n', 'a\r\n b', 'a\r\n\r\nbody'])(
  '%j breaks the line',
  (value) => {
    expect(headerFault('X-A', value)).toBe('must not hold a line break')
  },
)

test.each(['\0', 'a\tb', 'a\x1bb', 'a\x7f', 'a\u0085b', 'a\ud800'])('%j contains a control character', (value) => {
  expect(headerFault('X-A', value)).toMatch(/control character/)
})

test('a value of more than 998 characters is too long', () => {
  expect(headerFault('X-A', 'x'.repeat(999))).toBe('must be at most 998 characters long')
})

test('no custom header can stand beside one that the service writes itself', () => {
  const mailbox = basic.from
  const full = build({
    cc: [mailbox],
    replyTo: [mailbox],
    html: '<p>Hi</p>',
    attachments: [{ filename: 'a.txt', content: new Uint8Array() }],
  })
  const written = [...headerNames(full), 'DKIM-Signature']
  expect(written).toEqual(expect.arrayContaining(['From', 'Cc', 'Reply-To', 'Content-Type']))
  expect(written.filter((name) => headerFault(name, 'x') === undefined)).toEqual([])
})
