import { create, type MessageInitShape } from '@bufbuild/protobuf'
import type { ConnectError } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import { BadRequestSchema } from '../../gen/google/rpc/error_details_pb.ts'
import { SendRequestSchema } from '../../gen/verdict/v1/emails_pb.ts'
import { reasonOf } from '../../server/errors.ts'
import { readRequest, readSendRequest } from '../../server/sending/message.ts'
import { bodiesOf } from '../../server/sending/raw.ts'

const GOOD = { to: ['ann@example.net'], from: 'hello@example.test', subject: 'Hello', text: 'Hi' }

type Change = Omit<MessageInitShape<typeof SendRequestSchema>, '$typeName'>

function read(change: Change) {
  return readSendRequest(create(SendRequestSchema, { ...GOOD, ...change }))
}

function refused(change: Change): { reason?: string; fields: string[] } {
  try {
    read(change)
  } catch (error) {
    const fields = (error as ConnectError).findDetails(BadRequestSchema).flatMap((detail) => detail.fieldViolations)
    // Each fault says in words what is wrong.
    expect(fields.filter(({ description }) => !/\w \w/.test(description))).toEqual([])
    return { reason: reasonOf(error), fields: fields.map((violation) => violation.field) }
  }
  throw new Error('was not refused')
}

const file = (filename: string, bytes = 3, more: { contentType?: string; contentId?: string } = {}) => ({
  filename,
  content: new Uint8Array(bytes),
  ...more,
})
const MiB = 1024 * 1024

const INVALID_PAYLOAD: [sentence: string, change: Change, fields: string[]][] = [
  ['to is required', { to: [] }, ['to']],
  ['from is required', { from: '' }, ['from']],
  ['subject is required', { subject: '' }, ['subject']],
  ['a subject has at most 998 characters', { subject: 'x'.repeat(999) }, ['subject']],
  ['a subject has no line break', { subject: 'Hi\r\nBcc: eve@example.net' }, ['subject']],
  ['one of html and text is required', { text: undefined }, ['html']],
  ['an empty body is no body', { text: '' }, ['html']],
  ['html has at most 2 MiB', { html: 'x'.repeat(2 * MiB + 1) }, ['html']],
  ['text has at most 2 MiB, counted in bytes', { text: 'ü'.repeat(MiB + 1) }, ['text']],
  ['a body holds no NUL', { text: 'a\0b' }, ['text']],
  ['a body holds no half of a character', { html: 'a\ud83d' }, ['html']],
  ['an empty reply_to is refused', { replyTo: [''] }, ['reply_to']],
  ['an empty one of several is named', { replyTo: ['a@example.test', ''] }, ['reply_to[1]']],
  ['at most 10 reply_to', { replyTo: Array.from({ length: 11 }, () => 'a@example.test') }, ['reply_to']],
  ['at most 10 attachments', { attachments: Array.from({ length: 11 }, () => file('a.txt')) }, ['attachments']],
  [
    'a file name has at most 1,024 characters',
    { attachments: [file('a'.repeat(1_024)), file('/'.repeat(1_025))] },
    ['attachments[1].filename'],
  ],
  [
    'attachments have at most 10 MiB together',
    { attachments: [file('a', 6 * MiB), file('b', 5 * MiB)] },
    ['attachments'],
  ],
  [
    'an attachment has content',
    { attachments: [file('a'), { filename: 'b.txt' }, { filename: 'c.txt' }] },
    ['attachments[1].content', 'attachments[2].content'],
  ],
  ['an attachment has a file name', { attachments: [file('a'), file('')] }, ['attachments[1].filename']],
  [
    'at most 50 custom headers',
    { headers: Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`X-${i}`, 'v'])) },
    ['headers'],
  ],
  ['a header the service writes is refused', { headers: { 'DKIM-Signature': 'v=1' } }, ['headers["DKIM-Signature"]']],
  ['a header value has no line break', { headers: { 'X-A': 'a\r\nBcc: eve@example.net' } }, ['headers["X-A"]']],
  ['a header is given once', { headers: { 'X-A': '1', 'x-a': '2' } }, ['headers["x-a"]']],
  ['a tenant_id is not empty', { tenantId: '' }, ['tenant_id']],
  ['a tenant_id has at most 128 characters', { tenantId: 't'.repeat(129) }, ['tenant_id']],
  ['a tenant_id is printable', { tenantId: 'a\nb' }, ['tenant_id']],
]

test.each(INVALID_PAYLOAD)('400 invalid_payload: %s', (_, change, fields) => {
  expect(refused(change)).toEqual({ reason: 'invalid_payload', fields })
})

const INVALID_ADDRESS: [sentence: string, change: Change, fields: string[]][] = [
  ['an address in to that does not parse', { to: ['ann'] }, ['to']],
  ['the position of the address is named', { to: ['ann@example.net', 'bob@'] }, ['to[1]']],
  ['an empty address', { cc: [''] }, ['cc']],
  ['no line break in a name', { cc: ['Ann\r\nBcc: eve@example.net <ann@example.net>'] }, ['cc']],
  ['no encoded line break in a name', { cc: ['=?utf-8?q?Ann=0D=0AEve?= <ann@example.net>'] }, ['cc']],
  ['no line break in an address', { to: ['ann@example.net\r\nDATA'] }, ['to']],
  ['from does not parse', { from: 'hello' }, ['from']],
  ['reply_to does not parse', { replyTo: ['a@b@c'] }, ['reply_to']],
  ['the position in reply_to is named', { replyTo: ['a@example.test', 'a@b@c'] }, ['reply_to[1]']],
]

test.each(INVALID_ADDRESS)('400 invalid_address: %s', (_, change, fields) => {
  expect(refused(change)).toEqual({ reason: 'invalid_address', fields })
})

test('every fault is reported at once', () => {
  const { reason, fields } = refused({ to: ['ann'], from: '', subject: '' })
  expect(reason).toBe('invalid_payload')
  expect(fields).toEqual(['from', 'subject', 'to'])
})

test('50 recipients, 10 attachments and the sizes at their limits are accepted', () => {
  const message = read({
    to: Array.from({ length: 50 }, (_, i) => `a${i}@example.net`),
    subject: 'x'.repeat(998),
    html: 'x'.repeat(2 * MiB),
    attachments: Array.from({ length: 10 }, () => file('a.bin', MiB)),
    headers: { 'X-Order': '1' },
    tenantId: 't'.repeat(128),
  })
  expect(message.to).toHaveLength(50)
})

const NO_MEDIA_TYPES = [
  ...['', 'image', '/', 'image/', '/png', 'image/png/x', ' image/png', 'image/png; x=1', 'image/png;', '*/*'],
  ...['image/png\r\nBcc: eve@example.net', 'image/png\n', 'image/p\0ng', 'text/"x"', 'ímage/png', 'text/plaín'],
  ...[
    'text/plain; charset=',
    'text/plain; name=""',
    'multipart/mixed',
    'Multipart/related',
    'message/rfc822',
    'MESSAGE/x',
    `text/${'x'.repeat(128)}`,
  ],
]

test.each(NO_MEDIA_TYPES)('400 invalid_payload: the content_type %j', (contentType) => {
  const attachments = [file('a.png'), file('b.png', 3, { contentType })]
  expect(refused({ attachments })).toEqual({ reason: 'invalid_payload', fields: ['attachments[1].content_type'] })
})

const NO_CONTENT_IDS = [
  ...['', ' ', 'a b', '<a>', 'a>', 'a:b', 'a/b', 'ä', 'x'.repeat(129)],
  ...['a\r\nBcc: eve@example.net', 'a>\r\n\r\n<script>', 'a\n', 'a\0', '"a"', 'a;b'],
]

test.each(NO_CONTENT_IDS)('400 invalid_payload: the content_id %j', (contentId) => {
  const attachments = [file('a.png'), file('b.png', 3, { contentId })]
  const fields = ['attachments[1].content_id']
  expect(refused({ html: '<img>', attachments })).toEqual({ reason: 'invalid_payload', fields })
})

test('each content_id is given once, and needs html', () => {
  const attachments = ['a', 'b', 'A', 'a'].map((contentId) => file('a.png', 3, { contentId }))
  expect(refused({ html: '<img>', attachments }).fields).toEqual(['attachments[3].content_id'])
  const fields = [0, 1, 2].map((i) => `attachments[${i}].content_id`)
  expect(refused({ attachments: attachments.slice(0, 3) }).fields).toEqual(fields)
  expect(refused({ html: '', attachments: attachments.slice(0, 3) }).fields).toEqual(fields)
})

test('a media type and a content_id at their limits are accepted', () => {
  const half = 'x'.repeat(127)
  const given = { contentType: `${half}/${half}`, contentId: 'Az9._@+-'.repeat(16) }
  const { attachments } = read({ html: '<img>', attachments: [file('a', 3, given), file('b')] })
  expect(attachments).toMatchObject([given, { contentType: undefined, contentId: undefined }])
})

test('an attachment whose content is empty is an empty file', () => {
  expect(read({ attachments: [file('empty.txt', 0)] }).attachments).toEqual([file('empty.txt', 0)])
})

test('a message without metadata has none', () => {
  expect(read({ metadata: {} }).metadata).toBeUndefined()
})

test('from and reply_to accept a display name', () => {
  const message = read({ from: 'Ann Lee <hello@example.test>', replyTo: ['"Lee, Ann" <ann@example.test>'] })
  expect(message.from.name).toBe('Ann Lee')
  expect(message.replyTo.map(({ name }) => name)).toEqual(['Lee, Ann'])
})

test('the faults of a message without a body and of a recipient that does not parse are one sentence each', () => {
  const faultOf = (change: Parameters<typeof read>[0]) => {
    try {
      read(change)
    } catch (error) {
      return (error as Error).message
    }
    return undefined
  }
  expect(faultOf({ text: undefined })).toContain('html is required when text is missing.')
  expect(faultOf({ to: ['ann@example.net', 'nobody'] })).toContain('to[1] is not an email address')
})

test('a calendar without a method in its media type is no invitation, whatever it says', () => {
  const content = Buffer.from('BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nEND:VCALENDAR\r\n')
  const attach = (contentType: string) => ({ attachments: [{ filename: 'a.ics', content, contentType }] })
  expect(read(attach('text/calendar')).attachments).toHaveLength(1)
  expect(read(attach('text/calendar; method=REQUEST')).attachments).toHaveLength(1)
  expect(refused(attach('text/calendar; method=CANCEL')).fields).toEqual(['attachments[0].content_type'])
})

test('html alone has no text, unless auto_text asks for one and the message has none', () => {
  const html = '<p>Shall we <b>talk</b>?</p>'
  expect(read({ html, text: undefined }).text).toBeUndefined()
  expect(read({ html, text: undefined, autoText: false }).text).toBeUndefined()
  expect(read({ html, text: undefined, autoText: true }).text).toBe('Shall we talk?\n')
  expect(read({ html, text: 'Mine', autoText: true }).text).toBe('Mine')
  const longest = `<p>Hi</p>${' '.repeat(2 * MiB - 9)}`
  expect(read({ html: longest, text: undefined, autoText: true }).text).toBe('Hi\n')
})

test('a message without reply_to is stored without one', () => {
  expect(read({}).original.replyTo).toBeUndefined()
  expect(read({ replyTo: ['a@example.test', 'B <b@example.test>'] }).original.replyTo).toBe(
    'a@example.test, B <b@example.test>',
  )
})

test('the stored text of a raw message has U+FFFD for each NUL', async () => {
  const header = 'From: hello@example.test\r\nContent-Transfer-Encoding: base64\r\n'
  const raw = Buffer.from(`${header}\r\n${Buffer.from('a\0b').toString('base64')}\r\n`)
  const { raw: read } = await readRequest(create(SendRequestSchema, { to: GOOD.to, raw }), { accountId: 'a' })
  expect(bodiesOf(read!)).toEqual({ text: 'a\uFFFDb' })
})
