import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseMailbox } from '../../../mail/address.ts'
import { buildMessage } from '../../../mail/mime/builder.ts'
import { safeFilename } from '../../../mail/mime/filename.ts'
import { basic, build, expectTransportable, headerNames, parse, seen } from './building.ts'

test('a message of one text has its fields in the usual order and its body unchanged', () => {
  expect(build().toString()).toBe(
    [
      'Date: Fri, 02 Jan 2026 03:04:05 +0000',
      'From: Shop <no-reply@shop.example>',
      'To: user@example.com',
      'Subject: Your order',
      'Message-ID: <msg_1@rp.shop.example>',
      'MIME-Version: 1.0',
      'Content-Type: text/plain; charset=utf-8',
      'Content-Transfer-Encoding: 7bit',
      '',
      'Thank you.',
      '',
    ].join('\r\n'),
  )
})

test('text and html are alternatives with the html last, and attachments follow them in a mixed message', async () => {
  const raw = build({
    html: '<p>Thank you.</p>',
    attachments: [
      { filename: 'invoice.pdf', content: Buffer.from('%PDF') },
      { filename: 'empty.txt', content: Buffer.alloc(0) },
    ],
  })
  expect(raw.toString().match(/^Content-Type: [^;\r]*/gm)).toEqual([
    'Content-Type: multipart/mixed',
    'Content-Type: multipart/alternative',
    'Content-Type: text/plain',
    'Content-Type: text/html',
    'Content-Type: application/pdf',
    'Content-Type: text/plain',
  ])
  const mail = await parse(raw)
  expect([seen(mail.text), seen(mail.html)]).toEqual(['Thank you.', '<p>Thank you.</p>'])
  expect(mail.attachments.map(({ filename, disposition }) => [filename, disposition])).toEqual([
    ['invoice.pdf', 'attachment'],
    ['empty.txt', 'attachment'],
  ])
  expect(mail.attachments.map(({ content }) => Buffer.from(content as ArrayBuffer).toString())).toEqual(['%PDF', ''])
})

const LOGO = { filename: 'logo.png', content: Buffer.from('PNG'), contentId: 'logo@shop' }

test('inline files are related to the html and its text, and attachments follow them', async () => {
  const html = '<img src="cid:logo@shop">'
  const raw = build({ html, attachments: [{ filename: 'a.pdf', content: Buffer.from('%PDF') }, LOGO] })
  expect(raw.toString().match(/^Content-Type: [^;\r]*/gm)).toEqual([
    'Content-Type: multipart/mixed',
    'Content-Type: multipart/related',
    'Content-Type: multipart/alternative',
    'Content-Type: text/plain',
    'Content-Type: text/html',
    'Content-Type: image/png',
    'Content-Type: application/pdf',
  ])
  expect(raw.toString()).toContain('Content-Type: multipart/related;\r\n type="multipart/alternative";\r\n boundary=')
  expect(raw.toString()).toContain(
    [
      'Content-Type: image/png',
      'Content-Transfer-Encoding: base64',
      'Content-ID: <logo@shop>',
      'Content-Disposition: inline;',
      ' filename="logo.png"',
      '',
      'UE5H',
    ].join('\r\n'),
  )
  const mail = await parse(raw)
  expect([seen(mail.text), seen(mail.html)]).toEqual(['Thank you.', html])
  expect(mail.attachments).toMatchObject([
    { filename: 'logo.png', disposition: 'inline', related: true, contentId: '<logo@shop>' },
    { filename: 'a.pdf', disposition: 'attachment' },
  ])
})

test('inline files alone are related to the html alone', async () => {
  const raw = build({ text: undefined, html: '<img src="cid:logo@shop">', attachments: [LOGO] })
  expect(raw.toString().match(/^Content-Type: [^\r]*(?:\r\n type[^\r]*)?/gm)).toEqual([
    'Content-Type: multipart/related;\r\n type="text/html";',
    'Content-Type: text/html; charset=utf-8',
    'Content-Type: image/png',
  ])
  expect((await parse(raw)).attachments).toMatchObject([{ contentId: '<logo@shop>' }])
})

test('the media type of the caller replaces the one of the extension, in lower case', () => {
  const attachments = [{ filename: 'a.png', content: Buffer.from('x'), contentType: 'Text/X-Log' }]
  expect(build({ attachments }).toString()).toContain('\r\nContent-Type: text/x-log; charset=utf-8\r\n')
  const message = [{ filename: 'a.png', content: Buffer.from('x'), contentType: 'Message/RFC822' }]
  expect(build({ attachments: message }).toString()).toContain('\r\nContent-Type: application/octet-stream\r\n')
})

test('a message with only html has no text part', async () => {
  const raw = build({ text: undefined, html: '<p>Thank you.</p>' })
  expect(raw.toString()).toContain('Content-Type: text/html; charset=utf-8\r\n')
  expect(seen((await parse(raw)).html)).toBe('<p>Thank you.</p>')
})

test('equal arguments make equal bytes, and another seed makes other boundaries', () => {
  const attachments = [{ filename: 'a.bin', content: Buffer.from('x') }]
  expect(build({ attachments })).toEqual(build({ attachments }))
  expect(build({ attachments, boundarySeed: 'msg_2' })).not.toEqual(build({ attachments }))
})

test('To and Cc have every mailbox with its name, and a long list is folded', async () => {
  const names = ['Ann Lee', '"Lee, Bob"', 'Zoë 👋', '=?utf-8?Q?x?=', '"a@b.example"', 'Ünïcödé '.repeat(30)]
  const mailboxes = names.map((name, i) => parseMailbox(`${name} <user${i}@example.com>`)!)
  const raw = build({ to: [...mailboxes, parseMailbox('<plain@example.com>')!], cc: mailboxes.toReversed() })
  expectTransportable(raw)
  const mail = await parse(raw)
  const expected = mailboxes.map(({ name, address }) => ({ name, address }))
  expect(mail.to).toEqual([...expected, { name: '', address: 'plain@example.com' }])
  expect(mail.cc).toEqual(expected.toReversed())
  expect(headerNames(raw).slice(0, 4)).toEqual(['Date', 'From', 'To', 'Cc'])
})

test('Reply-To and custom headers are sent', async () => {
  const raw = build({
    replyTo: [parseMailbox('"Support, Team" <help@shop.example>')!, parseMailbox('ops@shop.example')!],
    headers: [
      ['X-Order', '42'],
      ['List-Unsubscribe', '<https://shop.example/u?id==?>, <mailto:u@shop.example>'],
    ],
  })
  const mail = await parse(raw)
  expect(mail.replyTo).toEqual([
    { name: 'Support, Team', address: 'help@shop.example' },
    { name: '', address: 'ops@shop.example' },
  ])
  expect(mail.headers.find(({ key }) => key === 'x-order')?.value).toBe('42')
  expect(raw.toString()).toContain('List-Unsubscribe: <https://shop.example/u?id==?>, <mailto:u@shop.example>\r\n')
})

test.each(['\n.\r\n', '\r.\r\n', '\n.\n', '\r\n\0.\r\n', '\r\n.\r\n', '.', '.\n', 'a\n.\nMAIL FROM:<x@example.com>\n'])(
  'a body of %j leaves with CRLF line ends only and no line that is or begins with a dot',
  async (body) => {
    for (const raw of [
      build({ text: body }),
      build({ text: body, html: body }),
      build({ text: undefined, html: body }),
    ]) {
      expectTransportable(raw)
      expect(raw.toString()).not.toMatch(/^\./m)
      const mail = await parse(raw)
      expect(seen(mail.text ?? mail.html)).toBe(seen(body))
    }
  },
)

test.each([
  ['short ASCII lines', 'Hello\nworld\n', '7bit'],
  ['nothing', '', '7bit'],
  ['a line of 78 characters', 'x'.repeat(78), '7bit'],
  ['a line of 79 characters', `${'x'.repeat(79)}\nshort`, 'quoted-printable'],
  ['a space at the end of a line', 'a \nb', 'quoted-printable'],
  ['a tab at the end', 'a\t', 'quoted-printable'],
  ['a line that mailbox files would mark', 'a\nFrom here on', 'quoted-printable'],
  ['a line like a boundary', 'a\n--=_b', 'quoted-printable'],
  ['NUL', 'a\0b', 'quoted-printable'],
  ['a few other letters', 'Grüße aus Köln an alle, die heute noch etwas bestellen', 'quoted-printable'],
  ['mostly other letters', 'Спасибо за заказ', 'base64'],
])('%s: %j travels as %s', async (_, text, encoding) => {
  const raw = build({ text })
  expect(raw.toString()).toContain(`Content-Transfer-Encoding: ${encoding}\r\n`)
  expectTransportable(raw)
  expect(seen((await parse(raw)).text) ?? '').toBe(seen(text))
})

test('a body that contains the boundaries of its own message does not end its part', async () => {
  const once = build({ html: 'x', attachments: [{ filename: 'a', content: Buffer.from('a') }] }).toString()
  const boundaries = [...once.matchAll(/boundary="([^"]+)"/g)].map((match) => match[1]!)
  expect(boundaries).toHaveLength(2)
  const text = boundaries.map((boundary) => `--${boundary}\n--${boundary}--\n`).join('')
  const mail = await parse(build({ text, html: text, attachments: [{ filename: 'a', content: Buffer.from(text) }] }))
  expect([seen(mail.text), seen(mail.html)]).toEqual([seen(text), seen(text)])
  expect(mail.attachments).toHaveLength(1)
})

test('a large attachment is a piece of its own, encoded in lines of 76 characters', async () => {
  const content = Buffer.alloc(1_000_003, 'some content, ')
  const pieces = buildMessage({ ...basic, attachments: [{ filename: 'a.bin', content }] })
  expect(pieces.map(({ length }) => length > 65_536)).toEqual([false, true, false])
  expect(
    pieces[1]!
      .toString()
      .split('\r\n')
      .slice(0, -1)
      .every((line) => line.length === 76),
  ).toBe(true)
  const mail = await parse(Buffer.concat(pieces))
  expect(Buffer.from(mail.attachments[0]!.content as ArrayBuffer).equals(content)).toBe(true)
})

test('the first piece contains the whole header, however large', () => {
  const headers = Array.from({ length: 50 }, (_, index): [string, string] => [`X-${index}`, '語'.repeat(998)])
  const [first] = buildMessage({ ...basic, headers })
  expect(first!.length).toBeGreaterThan(100_000)
  expect(first!.toString()).toMatch(
    /\r\nContent-Type: text\/plain; charset=utf-8\r\nContent-Transfer-Encoding: 7bit\r\n\r\n/,
  )
})

test.each([
  ['invoice.pdf', 'invoice.pdf'],
  ['../../etc/passwd', 'passwd'],
  ['C:\\Users\\x\\report.docx', 'report.docx'],
  ['a\r\nContent-Type: text/html\r\n\r\n.pdf', 'html.pdf'],
  ['a\0b\x7f\u0085.pdf', 'ab.pdf'],
  ['photo_\u202egpj.exe', 'photo_gpj.exe'],
  ['\u2066x\u2069\u200f.txt', 'x.txt'],
  ['evil.exe. . ', 'evil.exe'],
  ['..', 'attachment'],
  ['', 'attachment'],
  ['dir/', 'attachment'],
  ['.htaccess', '.htaccess'],
  ['日本語.pdf', '日本語.pdf'],
  ['half \ud83d.txt', 'half \ufffd.txt'],
  [`${'a'.repeat(300)}.pdf`, `${'a'.repeat(251)}.pdf`],
  [`${'語'.repeat(100)}.pdf`, `${'語'.repeat(83)}.pdf`],
  [`${'👋'.repeat(100)}`, '👋'.repeat(63)],
])('the attachment %j is named %j', async (filename, expected) => {
  expect(safeFilename(filename)).toBe(expected)
  const raw = build({ attachments: [{ filename, content: Buffer.from('x') }] })
  expectTransportable(raw)
  const mail = await parse(raw)
  expect(mail.attachments.map((attachment) => attachment.filename)).toEqual([expected])
})

test.each(['über ümlaut.txt', `${'語'.repeat(80)}.pdf`, '👩‍💻 *report* "x".txt'])(
  'the name %j travels only in the form of RFC 2231, so that no reader shows another one',
  async (filename) => {
    const raw = build({ attachments: [{ filename, content: Buffer.from('x') }] })
    const parameters = /^Content-Disposition: attachment;((?:\r\n [^\r]*)+)/m
      .exec(raw.toString())![1]!
      .split('\r\n ')
      .slice(1)
    for (const parameter of parameters) expect(parameter).toMatch(/^filename(?:\*\d+)?\*=[ -~]+$/)
    expect((await parse(raw)).attachments.map((attachment) => attachment.filename)).toEqual([filename])
  },
)

test.each([
  ['a.png', 'image/png'],
  ['a.PDF', 'application/pdf'],
  ['a.ics', 'text/calendar'],
  ['a.eml', 'application/octet-stream'],
  ['a.mht', 'application/octet-stream'],
  ['a.unknown-extension', 'application/octet-stream'],
  ['a', 'application/octet-stream'],
])('the attachment %s is of type %s', async (filename, type) => {
  const raw = build({ attachments: [{ filename, content: Buffer.from('x') }] })
  expect(
    raw
      .toString()
      .match(/^Content-Type: [^;\r]*/gm)
      ?.at(-1),
  ).toBe(`Content-Type: ${type}`)
})

test.each([
  'Plain',
  '',
  'x'.repeat(998),
  'word '.repeat(199).trim(),
  `a${' '.repeat(200)}b`,
  ' leading and trailing ',
  'Grüße',
  '👩‍💻'.repeat(200),
  'ü'.repeat(998),
  '=?utf-8?B?SGk=?=',
  'a =?utf-8?Q?b?= c',
  'Re: ümlaut and = and ? and _',
])('the subject %j arrives unchanged', async (subject) => {
  const raw = build({ subject })
  expectTransportable(raw)
  expect((await parse(raw)).subject ?? '').toBe(subject)
})

test('a header name, content id or media type that was never checked throws', () => {
  expect(() => build({ headers: [['X\r\nBcc', 'x']] })).toThrow()
  expect(() => build({ messageId: 'a\r\nBcc: x' })).toThrow()
  const file = { filename: 'a', content: Buffer.from('x') }
  expect(() => build({ attachments: [{ ...file, contentId: 'a>\r\nBcc: x' }] })).toThrow()
  expect(() => build({ attachments: [{ ...file, contentType: 'a/b\r\nBcc: x' }] })).toThrow()
})

test('a file name that looks like an encoded word has the form of RFC 2231', () => {
  const piece = fc.constantFrom('=?utf-8?q?', '=2E', 'exe', '?=', 'a', '.pdf', ' ', '=?utf-8?b?LmV4ZQ==?=')
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1, maxLength: 8 }), (pieces) => {
      const filename = `a${pieces.join('')}z`
      const raw = build({ attachments: [{ filename, content: Buffer.from('x') }] }).toString()
      expect(raw).not.toContain('=?')
      if (!filename.includes('=?')) return
      const values = [...raw.matchAll(/ filename(?:\*\d+)?\*=(?:UTF-8'')?(\S*?);?\r\n/g)].map(([, value]) => value)
      expect(decodeURIComponent(values.join(''))).toBe(safeFilename(filename))
    }),
  )
})

test('no line of a folded text begins or ends with a run of blanks', () => {
  const word = fc.tuple(fc.constantFrom('a', 'word', 'x'.repeat(30)), fc.integer({ min: 1, max: 40 }))
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 200 }), (words) => {
      const subject = words
        .map(([text, blanks]) => text + ' '.repeat(blanks))
        .join('')
        .trim()
      const [, header] = /^(Subject: .*\r\n(?: .*\r\n)*)/m.exec(build({ subject }).toString()) ?? []
      const lines = header!.split('\r\n').slice(0, -1)
      for (const line of lines.slice(1)) expect(line).toMatch(/^ [^ ]/)
      for (const line of lines) expect([line.length < 998, /[^ ]$/.test(line)]).toEqual([true, true])
    }),
  )
})
