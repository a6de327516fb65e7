import fc from 'fast-check'
import PostalMime from 'postal-mime'
import { expect, test } from 'vitest'
import { buildMessage } from '../../../../mail/mime/builder.ts'
import { completeRaw, type RawMessage, readRaw } from '../../../../mail/mime/raw/read-raw.ts'
import { basic } from '../building.ts'
import { BAD_MESSAGES, GOOD_HEADER, messageOf } from './bad-messages.ts'

function read(message: Buffer | string): RawMessage {
  const raw = readRaw(Buffer.from(message))
  if ('fault' in raw) throw new Error(raw.fault)
  return raw
}

const complete = (message: Buffer | string) =>
  Buffer.concat(completeRaw(read(message), { messageId: 'msg_1@rp.example.test', date: new Date(0) })).toString(
    'latin1',
  )

test.each(BAD_MESSAGES)('a message with %s is refused', (_, message, fault) => {
  expect(readRaw(message)).toMatchObject({ fault: expect.stringMatching(fault) })
})

test('Bcc, Resent-Bcc and Return-Path are removed, folded lines included; everything else stays as it was', () => {
  const kept = ['DKIM-Signature: v=1; a=rsa-sha256;', ' b=abc', 'Resent-From: eve@example.com', 'X-Odd:  two  spaces ']
  const header = ['Return-Path: <a@b.c>', ...GOOD_HEADER, 'BCC: x@y.z,', '\tz@y.x', ...kept, 'resent-bcc: a@b.c']
  const dated = ['Date: Thu, 01 Jan 1970 00:00:00 +0000', 'Message-ID: <mine@example.test>']
  expect(complete(messageOf([...header, ...dated]))).toBe(
    messageOf([...GOOD_HEADER, ...kept, ...dated]).toString('latin1'),
  )
})

test('100 Received headers and tabs in a header are accepted', () => {
  const received = Array.from({ length: 100 }, () => 'Received: by a.example;\tThu, 1 Jan 1970')
  read(messageOf([...GOOD_HEADER, ...received]))
})

test('Date and Message-ID are added where the message has none', () => {
  const added = ['Date: Thu, 01 Jan 1970 00:00:00 +0000', 'Message-ID: <msg_1@rp.example.test>']
  expect(complete(messageOf(GOOD_HEADER))).toBe(messageOf([...GOOD_HEADER, ...added]).toString('latin1'))
})

test.each([
  ['its body', 'From: hello@example.test\r\n\r\nHi'],
  ['its header', 'From: hello@example.test'],
  ['an empty body', 'From: hello@example.test\r\n\r\n'],
  ['a header without an empty line', 'From: hello@example.test\r\n'],
])('a message that ends with %s and no line end gets one', (_, message) => {
  const text = complete(message)
  expect(text).toMatch(/\r\n$/)
  expect(text).toContain('Message-ID: <msg_1@rp.example.test>\r\n\r\n')
})

test('From may have a comment, a quoted name with a comma, and encoded words', () => {
  expect(read('From: hello@example.test (the shop)\r\n\r\n').from.address).toBe('hello@example.test')
  expect(read('From: "Lee, Ann" <hello@example.test>\r\n\r\n').from.name).toBe('Lee, Ann')
  expect(read('From: =?utf-8?q?Gr=C3=BC=C3=9F?=\r\n <hello@example.test>\r\n\r\n').from.name).toBe('Grüß')
})

test('a To for blind recipients alone, and a Sender of the same domain, are accepted', () => {
  read(messageOf(['From: hello@example.test', 'To: undisclosed-recipients:;', 'Sender: bot@example.test']))
})

test('the subject is decoded, and unfolded', () => {
  const subject = 'Subject: =?utf-8?b?R3LDvMOf?=\r\n =?utf-8?q?e_aus?= Berlin'
  expect(read(`From: hello@example.test\r\n${subject}\r\n\r\n`).subject).toBe('Grüße aus Berlin')
})

test('declared 8-bit content makes the message one that needs 8BITMIME', () => {
  const declared = [...GOOD_HEADER, 'Content-Type: text/plain; charset=latin1', 'Content-Transfer-Encoding: 8bit']
  expect(read(messageOf(declared, ['Gr\xfc\xdfe'])).isEightBit).toBe(true)
  expect(read(messageOf(declared)).isEightBit).toBe(false)
})

test('100 parts are accepted', () => {
  const parts = Array.from({ length: 99 }, () => ['--b', '', 'x']).flat()
  const { parts: leaves } = read(
    messageOf([...GOOD_HEADER, 'Content-Type: multipart/mixed; boundary=b'], [...parts, '--b--']),
  )
  expect(leaves).toHaveLength(99)
})

test('a boundary that two levels share, and one that never closes, end no part of another level', () => {
  const same = ['--b', 'Content-Type: multipart/mixed; boundary=b', '', '--b', '', 'x', '--b--', '--b', '', 'y']
  const { parts } = read(messageOf([...GOOD_HEADER, 'Content-Type: multipart/mixed; boundary=b'], same))
  expect(parts.map(({ start, end }) => end - start)).toEqual([1, 1])
})

test('the size of every file and its name are those that readers see', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          filename: fc.stringMatching(/^[a-zü]{1,40}\.(?:bin|txt|eml)$/u),
          content: fc.uint8Array({ maxLength: 300 }),
        }),
        { maxLength: 4 },
      ),
      async (attachments) => {
        const message = Buffer.concat(buildMessage({ ...basic, html: '<p>Grüße</p>', attachments }))
        const files = read(message).parts.filter(({ isAttached }) => isAttached)
        const seen = (await PostalMime.parse(message)).attachments
        expect(files.map(({ filename, size, type }) => ({ filename, size, type }))).toEqual(
          seen.map(({ filename, content, mimeType }) => ({
            filename,
            size: (content as ArrayBuffer).byteLength,
            type: mimeType,
          })),
        )
      },
    ),
    { numRuns: 60 },
  )
})

test('the size of quoted-printable content is that of its decoded octets', () => {
  const part = [
    '--b',
    'Content-Type: text/csv',
    'Content-Disposition: attachment',
    'Content-Transfer-Encoding: quoted-printable',
    '',
    'a=C3=BC=',
    'b  ',
    'c',
    '--b--',
  ]
  const { parts } = read(messageOf([...GOOD_HEADER, 'Content-Type: multipart/mixed; boundary=b'], part))
  expect(parts[0]!.size).toBe(Buffer.byteLength('aüb\r\nc'))
})

test('any octets are read or refused, without an exception', () => {
  const pieces = fc.constantFrom(
    ...[
      'From: a@example.test',
      '\r\n',
      '\r\n\r\n',
      '--b',
      '--b--',
      ' ',
      '=',
      '(',
      '"',
      '<',
      ':',
      ';',
      '\\',
      '\xff',
      '\n',
    ],
    ...[
      'Content-Type: multipart/mixed; boundary=b',
      'Content-Type: message/rfc822',
      'Content-Transfer-Encoding: base64',
    ],
  )
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 40 }), (list) => {
      const raw = readRaw(Buffer.from(list.join(''), 'latin1'))
      if (!('fault' in raw)) expect(raw.from.address).toMatch(/^a@example\.test/)
    }),
    { numRuns: 3_000 },
  )
})
