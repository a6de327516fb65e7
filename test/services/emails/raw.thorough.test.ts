import { Code } from '@connectrpc/connect'
import { authenticate } from 'mailauth'
import { beforeEach, expect, test } from 'vitest'
import { EmailService } from '../../../gen/verdict/v1/emails_pb.ts'
import { messages, openMessages } from '../../../server/db/schema.ts'
import { contentsOfError, reasonOf } from '../../../server/errors.ts'
import { BAD_MESSAGES, GOOD_HEADER, messageOf } from '../../mail/mime/raw/bad-messages.ts'
import { startApi } from '../api.ts'

const api = await startApi()
beforeEach(() => api.world.exchanger.reset())

const sendRaw = (raw: Buffer, more: object = {}) =>
  api.call('POST', '/api/v1/emails/send', { body: { to: 'ann@example.net', raw: raw.toString('base64'), ...more } })

const grpc = () => api.grpc(EmailService)

const mailCommands = () =>
  api.world.exchanger.sessions.flatMap(({ commands }) => commands).filter((command) => command.startsWith('MAIL'))

async function storedMessages(): Promise<number> {
  return (await api.world.db.$count(messages)) + (await api.world.db.$count(openMessages))
}

/** Whether the only message that was sent is signed by all keys of its domain. */
async function expectOwnSignatures(): Promise<void> {
  const [{ content }] = api.world.exchanger.messages as [(typeof api.world.exchanger.messages)[0]]
  const [domain] = (await api.call('GET', '/api/v1/domains')).json.domains.filter(
    ({ domain }: { domain: string }) => domain === 'example.test',
  )
  const keys = domain.records.filter(({ record }: { record: string }) => record === 'DKIM')
  const { dkim } = await authenticate(Buffer.from(content, 'latin1'), {
    trustReceived: false,
    resolver: async (name) => {
      const key = keys.find(({ host }: { host: string }) => host === name)
      if (!key) throw Object.assign(new Error('no record'), { code: 'ENOTFOUND' })
      return [key.strings ?? [key.value]]
    },
  })
  const ours = dkim.results.filter(({ signingDomain }) => signingDomain === 'example.test')
  expect(ours.map(({ status }) => status.result)).toEqual(keys.map(() => 'pass'))
}

test.each(BAD_MESSAGES)('%s: 400 on raw over REST and gRPC, nothing is sent or stored', async (_, raw, fault) => {
  const before = await storedMessages()
  const { status, json } = await sendRaw(raw)
  expect(status).toBe(400)
  expect(json.error).toBe('invalid_payload')
  expect(json.details[0]).toMatchObject({ field: 'raw', message: expect.stringMatching(fault) })
  const error = await grpc()
    .send({ to: ['ann@example.net'], raw })
    .catch((error) => error)
  expect(error.code).toBe(Code.InvalidArgument)
  expect(contentsOfError(error).fields[0]).toMatchObject({ field: 'raw', message: expect.stringMatching(fault) })
  expect(await storedMessages()).toBe(before)
  expect(api.world.exchanger.messages).toEqual([])
})

test.each([
  ['a header without form, of a foreign domain', ['From : eve@example.com'], 'Hi', 400],
  ['a body without form, of a foreign domain', ['From: eve@example.com'], 'H\xfc', 403],
  ['a body without form, of an own domain', ['From: hello@example.test'], 'H\xfc', 400],
])('%s: the header is read first, then the right to its domain, then the body', async (_, header, body, status) => {
  for (const lines of [1, 20_000]) {
    const raw = messageOf(header, [...Array(lines).fill('x'), body])
    expect((await sendRaw(raw)).status).toBe(status)
  }
  expect(api.world.exchanger.messages).toEqual([])
})

test('a large message, which a thread reads and signs, leaves as it came', async () => {
  const body = Array.from({ length: 20_000 }, (_, i) => (i % 3 === 0 ? '.' : `. line ${i}`))
  const raw = messageOf(
    [...GOOD_HEADER, 'Message-ID: <large@example.test>', 'Date: Thu, 1 Jan 2026 00:00:00 +0000'],
    body,
  )
  expect((await sendRaw(raw)).json).toMatchObject({ status: 'delivered' })
  const sent = Buffer.from(api.world.exchanger.messages[0]!.content, 'latin1')
  expect(sent.subarray(-raw.length).equals(raw)).toBe(true)
  await expectOwnSignatures()
})

test('a message from another domain than one of the account is 403, and nothing is sent', async () => {
  const { status, json } = await sendRaw(messageOf(['From: eve@example.com', 'To: ann@example.net']))
  expect([status, json.error]).toEqual([403, 'domain_not_verified'])
  const error = await grpc()
    .send({ to: ['ann@example.net'], raw: messageOf(['From: eve@example.com']) })
    .catch((error) => error)
  expect([error.code, reasonOf(error)]).toEqual([Code.PermissionDenied, 'domain_not_verified'])
  const pending = await sendRaw(messageOf(['From: eve@pending.test', 'To: ann@example.net']))
  expect(pending.json).toMatchObject({ status: 'rejected', reason: 'domain_not_verified' })
  expect(api.world.exchanger.messages).toEqual([])
})

test('the fields that raw replaces are refused, each by its name', async () => {
  const fields = {
    ...{ subject: 'Hi', html: '<p>Hi</p>', text: 'Hi', headers: { 'X-A': '1' }, reply_to: 'a@b.test', auto_text: true },
    attachments: [{ filename: 'a', content: '' }],
  }
  const { status, json } = await sendRaw(messageOf(GOOD_HEADER), fields)
  expect(status).toBe(400)
  expect(json.details.map(({ field }: { field: string }) => field).toSorted()).toEqual(Object.keys(fields).toSorted())
})

test('from may repeat the From header, with another name; another address is refused', async () => {
  expect((await sendRaw(messageOf(GOOD_HEADER), { from: 'Other <hello@example.test>' })).status).toBe(200)
  const { status, json } = await sendRaw(messageOf(GOOD_HEADER), { from: 'bye@example.test' })
  expect(status).toBe(400)
  expect(json.details).toEqual([
    { field: 'from', message: 'differs from the From header of raw, which is hello@example.test' },
  ])
})

const MESSAGE = messageOf(
  [
    ...['Return-Path: <x@y.z>', 'From: Shop <hello@example.test>', 'To: Someone <else@example.com>'],
    ...['Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=', 'Bcc: hidden@example.net', 'DKIM-Signature: v=1; d=other.example; b=x'],
    ...['Resent-From: x@example.com', 'MIME-Version: 1.0', 'Content-Type: multipart/mixed; boundary="b"'],
  ],
  [
    ...['.', '--b', 'Content-Type: text/html; charset=iso-8859-1', 'Content-Transfer-Encoding: quoted-printable', ''],
    ...['<p>Gr=FC=DFe</p>', '--b', 'Content-Type: text/plain', '', 'Hi', '..', '--b'],
    ...['Content-Type: application/pdf', 'Content-Transfer-Encoding: base64'],
    ...[`Content-Disposition: attachment; filename*=utf-8''Rechnung%20M%C3%A4rz.pdf`, '', 'JVBERg==', '--b--'],
  ],
)

test('a raw message is sent as it is, signed, to the recipients of the envelope alone', async () => {
  const { json } = await sendRaw(MESSAGE, { to: ['ann@example.net', 'bob@example.net'], tag: 'raw' })
  expect(json.status).toBe('delivered')
  const [{ content, from, to }] = api.world.exchanger.messages as [(typeof api.world.exchanger.messages)[0]]
  expect(to).toEqual(['ann@example.net', 'bob@example.net'])
  expect(from).toMatch(/@rp\.example\.test/)
  const given = MESSAGE.toString('latin1')
  expect(content.slice(content.indexOf('\r\n\r\n'))).toBe(given.slice(given.indexOf('\r\n\r\n')))
  expect(content).toContain('\r\nDKIM-Signature: v=1; d=other.example; b=x\r\nResent-From: x@example.com\r\n')
  expect(content).toContain('\r\nTo: Someone <else@example.com>\r\n')
  expect(content).not.toMatch(/^(?:Bcc|Return-Path):/im)
  expect(content).toMatch(new RegExp(`^Message-ID: <${json.message_id}@rp\\.example\\.test>`, 'm'))
  expect(content).toMatch(/^Date: /m)
})

test('the signature of a raw message covers what was sent', async () => {
  await sendRaw(MESSAGE)
  await expectOwnSignatures()
})

test('Get email reads subject, attachments and bodies from a raw message, and says that it is one', async () => {
  const { json } = await sendRaw(MESSAGE)
  const email = (await api.call('GET', `/api/v1/emails/${json.message_id}`)).json
  expect(email).toMatchObject({
    raw: true,
    from: 'Shop <hello@example.test>',
    to: ['ann@example.net'],
    subject: 'Grüße',
    attachments: [{ filename: 'Rechnung März.pdf', content_type: 'application/pdf', size_bytes: 4 }],
    html: '<p>Grüße</p>',
    text: 'Hi\r\n..',
  })
  const listed = (await api.call('GET', '/api/v1/emails?limit=1')).json.emails[0]
  expect(listed).toMatchObject({ subject: 'Grüße', from: 'Shop <hello@example.test>' })
})

test('Get email shows the files of a raw message, and not those of a message that it forwards', async () => {
  const inner = ['Content-Type: multipart/mixed; boundary=in', '', '--in', 'Content-Type: application/pdf']
  const forwarded = [...inner, 'Content-Disposition: attachment; filename=inner.pdf', '', 'abc', '--in--']
  const body = ['--out', 'Content-Type: text/plain', '', 'See below', '--out', 'Content-Type: message/rfc822', '']
  const file = ['--out', 'Content-Type: image/png', 'Content-Disposition: attachment', 'Content-ID: <logo>', '', 'x']
  const { json } = await sendRaw(
    messageOf(
      [...GOOD_HEADER, 'Content-Type: multipart/mixed; boundary=out'],
      [...body, ...forwarded, ...file, '--out--'],
    ),
  )
  const { attachments } = (await api.call('GET', `/api/v1/emails/${json.message_id}`)).json
  expect(attachments).toMatchObject([
    { filename: 'attachment', content_type: 'message/rfc822' },
    { filename: 'attachment', content_type: 'image/png', content_id: 'logo' },
  ])
})

const EIGHT_BIT = messageOf(
  [...GOOD_HEADER, 'Content-Type: text/plain; charset=iso-8859-1', 'Content-Transfer-Encoding: 8bit'],
  ['Gr\xfc\xdfe'],
)

test('declared 8-bit content is sent with BODY=8BITMIME, byte for byte', async () => {
  expect((await sendRaw(EIGHT_BIT)).json.status).toBe('delivered')
  expect(mailCommands().at(-1)).toContain(' BODY=8BITMIME')
  expect(api.world.exchanger.messages[0]!.content).toContain('\r\nGr\xfc\xdfe\r\n')
})

test('7-bit content is sent without BODY', async () => {
  await sendRaw(messageOf(GOOD_HEADER))
  expect(mailCommands().at(-1)).not.toContain('BODY')
})

test('a server without 8BITMIME: bounced/policy_block before MAIL, with that detail', async () => {
  const world = api.world
  world.exchanger.script = { ehlo: '250-mx.test\r\n250 PIPELINING', mail: '421 4.3.2 closing' }
  // The connections that were opened before know 8BITMIME.
  await sendRaw(messageOf(GOOD_HEADER))
  world.exchanger.script = { ehlo: '250-mx.test\r\n250 PIPELINING' }
  world.exchanger.sessions.length = 0
  const { json } = await sendRaw(EIGHT_BIT)
  expect(json).toMatchObject({ status: 'bounced', reason: 'policy_block', smtp: { phase: 'ehlo' } })
  expect(json.smtp.detail).toMatch(/does not offer 8BITMIME, and the message has 8-bit content/)
  expect(mailCommands()).toEqual([])
})

test('a dry run, a batch and a repeat treat a raw message as any other', async () => {
  const dry = await sendRaw(messageOf(GOOD_HEADER), {})
  expect(dry.status).toBe(200)
  const raw = messageOf(GOOD_HEADER).toString('base64')
  const validated = await api.call('POST', '/api/v1/emails/validate', { body: { to: 'ann@example.net', raw } })
  expect(validated.json).toMatchObject({ sandbox: true, status: 'delivered' })
  const batch = await api.call('POST', '/api/v1/emails/batch', {
    body: [
      { to: 'ann@example.net', raw },
      { to: 'ann@example.net', raw: 'AA==' },
    ],
  })
  expect(batch.json.results).toMatchObject([{ status: 'delivered' }, { error: 'invalid_payload' }])
  const send = () =>
    api.call('POST', '/api/v1/emails/send', {
      body: { to: 'ann@example.net', raw },
      headers: { 'idempotency-key': 'raw-1' },
    })
  const [first, second] = [await send(), await send()]
  expect(second.json).toEqual(first.json)
})

test('a message as large as a request allows is sent', async () => {
  const line = `${'x'.repeat(998)}`
  const raw = messageOf(
    GOOD_HEADER,
    Array.from({ length: 10 * 1024 }, () => line),
  )
  expect(raw.length).toBeGreaterThan(10_000_000)
  expect((await sendRaw(raw, { to: 'delivered@simulator.test' })).json.status).toBe('delivered')
})
