import PostalMime from 'postal-mime'
import { beforeEach, expect, test } from 'vitest'
import { EmailService } from '../../../gen/verdict/v1/emails_pb.ts'
import { contentsOfError } from '../../../server/errors.ts'
import { startApi } from '../api.ts'

const api = await startApi()
beforeEach(() => api.world.exchanger.reset())

const INVITE = (method: string) =>
  [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    `METHOD:${method}`,
    'BEGIN:VEVENT',
    'SUMMARY:Café',
    'END:VEVENT',
    'END:VCALENDAR',
    '',
  ].join('\r\n')

const file = (content_type: string | undefined, content: string | Buffer, filename = 'invite.ics') => ({
  ...{ filename, content_type },
  content: Buffer.from(content).toString('base64'),
})

const sendTo = (change: object) => api.send({ to: 'ann@example.net', ...change })
const arrived = () => api.world.exchanger.messages.at(-1)!.content
const stored = async (id: string) => (await api.call('GET', `/api/v1/emails/${id}`)).json

test('an invitation is the last alternative of the body, and a file beside it', async () => {
  const { json } = await sendTo({
    html: '<p>Hi</p>',
    attachments: [file('text/calendar; method=REQUEST', INVITE('REQUEST'))],
  })
  expect(json.status).toBe('delivered')
  const types = [...arrived().matchAll(/^Content-Type: ((?:[^\r]|\r\n )*)/gm)].map(([, type]) =>
    type!.replace(/\r\n /g, ' '),
  )
  expect(types.filter((type) => !type.includes('boundary')).map((type) => type.split('\r')[0])).toEqual([
    'text/plain; charset=utf-8',
    'text/html; charset=utf-8',
    'text/calendar; charset=utf-8; method=REQUEST',
    'text/calendar; charset=utf-8; method=REQUEST',
  ])
  const [mixed, alternative] = types
  expect(mixed).toMatch(/^multipart\/mixed/)
  expect(alternative).toMatch(/^multipart\/alternative/)
  const mail = await PostalMime.parse(arrived())
  expect(mail.attachments.map(({ filename, method }) => [filename, method])).toContainEqual(['invite.ics', 'REQUEST'])
  expect((await stored(json.message_id)).attachments).toMatchObject([
    { filename: 'invite.ics', content_type: 'text/calendar; method=REQUEST' },
  ])
})

test.each([
  ['differs', INVITE('CANCEL')],
  ['is folded and differs', INVITE('REQUEST').replace('METHOD:REQUEST', 'METH\r\n OD:CAN\r\n CEL')],
  ['has a parameter and differs', INVITE('REQUEST').replace('METHOD:', 'METHOD;X-A=1:x')],
  ['is there twice, once differently', INVITE('REQUEST') + INVITE('REPLY')],
])('400 over REST and gRPC: the METHOD of the calendar %s', async (_, calendar) => {
  const { status, json } = await sendTo({ attachments: [file('text/calendar; method=REQUEST', calendar)] })
  expect(status).toBe(400)
  expect(json.details).toMatchObject([
    { field: 'attachments[0].content_type', message: expect.stringContaining('METHOD') },
  ])
  const error = await api
    .grpc(EmailService)
    .send({
      ...{ to: ['ann@example.net'], from: 'hello@example.test', subject: 'Hello', text: 'Hi' },
      attachments: [
        { filename: 'a.ics', contentType: 'text/calendar; method=REQUEST', content: Buffer.from(calendar) },
      ],
    })
    .catch((error) => error)
  expect(contentsOfError(error).fields).toMatchObject([{ field: 'attachments[0].content_type' }])
  expect(api.world.exchanger.messages).toEqual([])
})

test('the methods are compared without their case; a calendar without method= is a file', async () => {
  expect((await sendTo({ attachments: [file('TEXT/Calendar; METHOD=request', INVITE('REQUEST'))] })).status).toBe(200)
  await sendTo({ attachments: [file('text/calendar', INVITE('CANCEL'))] })
  expect(arrived().match(/^Content-Type: text\/calendar/gm)).toHaveLength(1)
})

test.each([
  ['boundary', 'text/plain; boundary=x'],
  ['an unknown parameter', 'text/plain; x=1'],
  ['charset twice', 'text/plain; charset=utf-8; CHARSET=latin1'],
  ['an open quote', 'text/plain; name="a'],
  ['words after it', 'text/plain; charset=utf-8 x'],
  ['a parameter without a value', 'text/plain; charset='],
  ['a line break', 'text/plain; name="a\r\nBcc: x@y.z"'],
  ['a charset with spaces', 'text/plain; charset="a b"'],
  ['multipart', 'multipart/mixed; charset=utf-8'],
  ['a message', 'message/rfc822; name=a'],
])('a content_type with %s is refused', async (_, content_type) => {
  const { status, json } = await sendTo({ attachments: [file(content_type, 'x')] })
  expect(status).toBe(400)
  expect(json.details[0].field).toBe('attachments[0].content_type')
})

test('two invitations in one message are refused', async () => {
  const invitation = file('text/calendar; method=REQUEST', INVITE('REQUEST'))
  const { json } = await sendTo({ attachments: [invitation, invitation] })
  expect(json.details).toMatchObject([{ field: 'attachments[1].content_type' }])
})

test.each([
  ['UTF-8', 'text/csv', Buffer.from('Grüße'), 'text/csv; charset=utf-8'],
  ['ASCII, by its extension', undefined, Buffer.from('Hi'), 'text/plain; charset=utf-8'],
  ['no UTF-8', 'text/csv', Buffer.from('Gr\xfc\xdfe', 'latin1'), 'text/csv'],
  [
    'a charset of its own',
    'text/csv; charset=iso-8859-1; format=flowed',
    Buffer.from('a'),
    'text/csv; charset=iso-8859-1; format=flowed',
  ],
  ['no text', 'application/json', Buffer.from('{}'), 'application/json'],
])('a file that is %s has the media type %s as it travels', async (_, type, content, expected) => {
  await sendTo({ attachments: [file(type, content, 'a.txt')] })
  expect(arrived()).toContain(`\r\nContent-Type: ${expected}\r\n`)
})

test('a name in a content_type may be in any script', async () => {
  await sendTo({ attachments: [file('application/pdf; name="Rechnung März.pdf"', 'x', 'a.pdf')] })
  expect(arrived()).toContain("Content-Type: application/pdf;\r\n name*=UTF-8''Rechnung%20M%C3%A4rz.pdf\r\n")
})

test('encoded words in subject and names are decoded once, and travel encoded once', async () => {
  const { json } = await sendTo({
    to: '=?utf-8?q?J=C3=BCrgen?= =?utf-8?q?_Gro=C3=9F?= <ann@example.net>',
    from: '=?utf-8?b?U2jDtnA=?= <hello@example.test>',
    subject: '=?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n =?utf-8?q?_an_alle?=  ',
  })
  const email = await stored(json.message_id)
  expect(email).toMatchObject({
    subject: 'Grüße an alle',
    to: ['Jürgen Groß <ann@example.net>'],
    from: 'Shöp <hello@example.test>',
  })
  const mail = await PostalMime.parse(arrived())
  expect(mail).toMatchObject({ subject: 'Grüße an alle', from: { name: 'Shöp' }, to: [{ name: 'Jürgen Groß' }] })
})

test.each([
  ['a line break in a subject', { subject: '=?utf-8?q?a=0D=0ABcc:_x?=' }, 'subject'],
  ['NUL in a subject', { subject: '=?utf-8?q?a=00?=' }, 'subject'],
  ['999 characters in a subject', { subject: `=?utf-8?q?${'a'.repeat(999)}?=` }, 'subject'],
  ['nothing but spaces in a subject', { subject: '   ' }, 'subject'],
  ['an encoded subject of spaces', { subject: '=?utf-8?q?__?=' }, 'subject'],
  ['a line break in a name', { to: '=?utf-8?q?a=0D=0AX:_y?= <ann@example.net>' }, 'to'],
  ['a line break in the text around encoded words', { subject: '=?utf-8?q?a?=\r\nBcc: x' }, 'subject'],
])('encoded words that decode to %s are refused', async (_, change, field) => {
  const { status, json } = await sendTo(change)
  expect(status).toBe(400)
  expect(json.details[0].field).toBe(field)
  expect(api.world.exchanger.messages).toEqual([])
})

test('a subject of 998 characters may be longer as encoded words', async () => {
  const words = Array.from({ length: 20 }, () => `=?utf-8?q?${'=C3=BC'.repeat(49)}?=`).join(' ')
  const { json } = await sendTo({ subject: words })
  expect((await stored(json.message_id)).subject).toBe('ü'.repeat(980))
})

test('an address stays as it is: no encoded word is decoded in it', async () => {
  await sendTo({ to: '=?utf-8?q?ann?=@example.net' })
  expect(api.world.exchanger.messages.at(-1)!.to).toEqual(['=?utf-8?q?ann?=@example.net'])
})

test('References and In-Reply-To have up to 8 KiB, folded', async () => {
  const ids = Array.from({ length: 120 }, (_, i) => `<message-number-${i}@mail.example.test>`)
  const references = ids.join(' ').slice(0, 8_192)
  const { json } = await sendTo({ headers: { References: references, 'X-A': 'b' } })
  expect(json.status).toBe('delivered')
  const folded = /^References: ((?:[^\r]|\r\n )*)/m.exec(arrived())![1]!
  expect(folded.replaceAll('\r\n', '')).toBe(references.trim())
  expect(
    Math.max(
      ...arrived()
        .split('\r\n')
        .map((line) => line.length),
    ),
  ).toBeLessThanOrEqual(998)
})

test.each([
  ['References of more than 8 KiB', { References: '<a@b.c> '.repeat(1_025) }],
  ['a Message-ID of more than a line', { References: `<${'a'.repeat(950)}@b.c>` }],
  ['another header of more than 998 characters', { 'X-A': 'a '.repeat(500) }],
])('%s is refused', async (_, headers) => {
  const { status, json } = await sendTo({ headers })
  expect([status, json.details[0].field]).toEqual([400, `headers["${Object.keys(headers)[0]}"]`])
})

test('auto_text makes the text from the html, unless there is a text', async () => {
  const html = '<h1>Hello</h1><p>See <a href="https://shop.example/">the shop</a></p>'
  const { json } = await sendTo({ html, text: undefined, auto_text: true })
  const mail = await PostalMime.parse(arrived())
  expect(mail.text?.trim()).toBe('Hello\n\nSee the shop <https://shop.example/>')
  expect(mail.html?.trim()).toBe(html)
  expect(await stored(json.message_id)).toMatchObject({ auto_text: true, html })
  await sendTo({ html, text: 'Mine', auto_text: true })
  expect((await PostalMime.parse(arrived())).text?.trim()).toBe('Mine')
  expect((await sendTo({ text: undefined, auto_text: true })).status).toBe(400)
})

test('an address that needs quotes: the message says how to write it, and with quotes it is sent', async () => {
  for (const local of ['ab.', 'a..b', '.ab']) {
    const { status, json } = await sendTo({ to: `Ann <${local}@example.net>` })
    expect(status).toBe(400)
    expect(json.details[0].message).toBe(`has a local part that needs quotes: write Ann <"${local}"@example.net>`)
  }
  expect((await sendTo({ to: '"ab."@example.net' })).json.status).toBe('delivered')
  expect(api.world.exchanger.messages.at(-1)!.to).toEqual(['"ab."@example.net'])
})
