import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { readAddressList } from '../../address-files/address-list.ts'
import { type SendRequest, SendRequestSchema } from '../../gen/verdict/v1/emails_pb.ts'
import { readMailAside } from '../../server/admin/mail.ts'
import { findReturnPath } from '../../server/domains/return-path.ts'
import type { SenderDomain } from '../../server/domains/sender.ts'
import { mentions, PLACES } from '../../server/erasure/places.ts'
import { wantedAddress } from '../../server/erasure/spellings.ts'
import { createByteBudget } from '../../server/http/body/byte-budget.ts'
import { unpack } from '../../server/http/body/gunzip.ts'
import type { Call } from '../../server/http/call.ts'
import { readJsonMessage } from '../../server/http/rest/json-reader.ts'
import { readJsonText } from '../../server/http/rest/json-text.ts'
import { checkProtobuf } from '../../server/http/rpc/protobuf-bounds.ts'
import { Condenser } from '../../server/inbound/condense.ts'
import { decodedTextsAside } from '../../server/inbound/mime-parts.ts'
import { readReportAside } from '../../server/inbound/report.ts'
import type { Claim } from '../../server/ledger/claim.ts'
import { findSentOctets } from '../../server/receipts/sent-octets.ts'
import { compose } from '../../server/sending/compose.ts'
import { readRequest } from '../../server/sending/message.ts'
import { bodiesAside } from '../../server/sending/raw.ts'
import { Inbox } from '../../server/simulator/inbox.ts'
import { asMail, filled } from './fillers.ts'

export interface Row {
  /** Rows of one door are compared with plain text at that door. */
  door: Door
  /** Makes the input that is full of the unit, and has about this size. */
  make(unit: string, bytes: number): Buffer
  /** Reads it as the service does, from its bytes to what is sent, stored or shown. */
  read(input: Buffer): unknown
  /** The most bytes that reach the reader. */
  most?: number
}

/**
 * `plain` is the row of plain text, `unit` what it holds. `isAside`: it reads in a browser or a command, and not on the
 * event loop of the service.
 */
export const DOORS = {
  api: { plain: 'send: text', most: 15 * 2 ** 20, isAside: false },
  raw: { plain: 'raw: text', most: 15 * 2 ** 20, isAside: false },
  reports: { plain: 'report: text', most: 10 * 2 ** 20, isAside: false },
  dashboard: { plain: 'dashboard: text', most: 15 * 2 ** 20, isAside: false },
  erasure: { plain: 'erasure: request', most: 2 * 2 ** 20, isAside: false },
  files: { plain: 'file of addresses: CSV', unit: 'a@b.example\n', most: 2 ** 20, isAside: true },
  receipts: { plain: 'receipt: saved copy', most: 2 ** 20, isAside: true },
} satisfies Record<string, DoorOfContent>

export interface DoorOfContent {
  plain: string
  unit?: string
  most: number
  isAside: boolean
}

export type Door = keyof typeof DOORS

const ACCOUNT = randomUUID()
const HEADER = 'From: a@example.test\r\nTo: b@example.net\r\nSubject: s\r\nMIME-Version: 1.0\r\n'
const mailOf = (fields: string) => (unit: string, bytes: number) =>
  Buffer.concat([Buffer.from(`${HEADER}${fields}\r\n`), asMail(unit, bytes)])
const typed = (type: string, encoding = '8bit', more = '') =>
  mailOf(`Content-Type: ${type}\r\nContent-Transfer-Encoding: ${encoding}\r\n${more}`)
const multipart = (type: string, encoding: string) => (unit: string, bytes: number) =>
  Buffer.concat([
    Buffer.from(`${HEADER}Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: ${type}\r\n`),
    Buffer.from(`Content-Transfer-Encoding: ${encoding}\r\n\r\n`),
    asMail(unit, bytes),
    Buffer.from('--b--\r\n'),
  ])

/** What a reader does with an input that it refuses costs as much as any other. */
async function settled(work: () => unknown): Promise<unknown> {
  try {
    return await work()
  } catch (error) {
    return error
  }
}

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const DOMAIN = {
  name: 'example.test',
  returnPathHost: 'rp.example.test',
  dkimKeys: [{ selector: 's', algorithm: 'rsa', key: privateKey }],
} as unknown as SenderDomain
const CLAIM = { messageId: randomUUID(), accountId: ACCOUNT, createdAtMs: 0 } as Claim

async function send(request: SendRequest) {
  const message = await readRequest(request, { accountId: ACCOUNT })
  if (message.raw) await bodiesAside(ACCOUNT, message.raw)
  return compose(message, DOMAIN, CLAIM)
}

const GOOD = { from: 'a@example.test', to: ['b@example.net'], subject: 's', text: 't' }
const RAW = { to: ['b@example.net'] }
const raw = (make: Row['make'], more: Partial<Row> = {}): Row => {
  return { door: 'raw', make, read: (raw) => settled(() => send(create(SendRequestSchema, { ...RAW, raw }))), ...more }
}

/** A request in JSON, whose fields hold the text. */
const json = (fieldsOf: (text: string) => object, more: Partial<Row> = {}): Row => ({
  door: 'api',
  make: (unit, bytes) => Buffer.from(JSON.stringify({ ...GOOD, ...fieldsOf(filled(unit, bytes).toString()) })),
  read: (input) =>
    settled(async () => {
      const { message } = readJsonMessage(SendRequestSchema, await readJsonText(input, ACCOUNT))
      return send(message as SendRequest)
    }),
  ...more,
})
const inBase64 = (text: string) => Buffer.from(text).toString('base64')
/** A field other than a body. */
const SHORT = { most: 16 * 1024 }
const CALENDAR = 'text/calendar; method=REQUEST'

const protobuf = (input: Buffer) =>
  settled(() => {
    checkProtobuf(SendRequestSchema, input)
    return send(fromBinary(SendRequestSchema, input, { readUnknownFields: false }))
  })
const inProtobuf = (unit: string, bytes: number) =>
  Buffer.from(
    toBinary(
      SendRequestSchema,
      create(SendRequestSchema, { ...GOOD, text: filled(unit, bytes).toString().toWellFormed() }),
    ),
  )
const CALL = { remoteAddress: '', signal: new AbortController().signal, values: { get: () => undefined } }
const unpacked = async (input: Buffer) => {
  const call = { ...CALL } as unknown as Call
  const budget = createByteBudget({ totalBytes: 2 ** 30, waitMs: 0 })
  const limits = { maxBytes: 15 * 2 ** 20, budget }
  return protobuf(await unpack(call, input, limits))
}

async function report(input: Buffer) {
  const condenser = new Condenser()
  for (let at = 0; at < input.length; at += 65_536) {
    condenser.push(input.subarray(at, at + 65_536))
    // Each piece comes by its own turn, as from a socket.
    await nextTurn()
  }
  const mail = condenser.end()
  // As `fbl@` does, whose mail has the return path in its original.
  for (const text of await decodedTextsAside(mail)) findReturnPath([RETURN_PATH_KEY], text)
  return readReportAside(mail, { hasNullSender: true })
}
const RETURN_PATH_KEY = Buffer.alloc(32)
const reported = (make: Row['make']): Row => ({ door: 'reports', make, read: report })

const displayed = (make: Row['make']): Row => ({
  door: 'dashboard',
  make,
  read: (input) => readMailAside(ACCOUNT, input),
})

const MESSAGES = PLACES.find(({ table }) => table === 'messages')!
const WANTED = wantedAddress('a@b.example', () => 'erased')

/** Every reader of bytes from outside. */
export const ROWS: Record<string, Row> = {
  'send: text': json((text) => ({ text })),
  'send: HTML': json((html) => ({ html })),
  'send: auto_text': json((html) => ({ html, text: undefined, auto_text: true })),
  'send: calendar': json((text) => ({
    attachments: [{ filename: 'a.ics', content_type: CALENDAR, content: inBase64(text) }],
  })),
  'send: attachment': json((text) => ({ attachments: [{ filename: 'a.txt', content: inBase64(text) }] })),
  'send: broken base64': json((content) => ({ attachments: [{ filename: 'a.txt', content }] })),
  'send: header': json((text) => ({ headers: { 'X-A': text } }), SHORT),
  'send: name of a header': json((text) => ({ headers: { [text]: 'a' } }), SHORT),
  'send: subject': json((subject) => ({ subject }), SHORT),
  'send: address': json((to) => ({ to: [to] }), SHORT),
  'send: name': json((name) => ({ from: `${name} <a@example.test>` }), SHORT),
  'send: file name': json((filename) => ({ attachments: [{ filename, content: 'QQ==' }] }), SHORT),
  'send: media type': json(
    (content_type) => ({ attachments: [{ filename: 'a', content_type, content: 'QQ==' }] }),
    SHORT,
  ),
  'JSON: bare': json(() => ({}), { make: filled }),
  'JSON: in a list': json(() => ({}), { make: (unit, bytes) => filled(`[${unit}`, bytes) }),
  'JSON: in a text': json(() => ({}), {
    make: (unit, bytes) => Buffer.concat([Buffer.from('{"to":"'), filled(unit, bytes)]),
  }),
  Protobuf: { door: 'api', make: inProtobuf, read: protobuf },
  'Protobuf: bare': { door: 'api', make: filled, read: protobuf },
  gzip: {
    door: 'api',
    make: (unit, bytes) => gzipSync(inProtobuf(unit, bytes)),
    read: (input) => settled(() => unpacked(input)),
  },
  'raw: text': raw(typed('text/plain')),
  'raw: quoted-printable': raw(typed('text/plain', 'quoted-printable')),
  'raw: base64': raw(typed('text/plain', 'base64')),
  'raw: HTML': raw(typed('text/html', 'quoted-printable')),
  'raw: calendar': raw(typed(CALENDAR)),
  'raw: calendar in quoted-printable': raw(typed(CALENDAR, 'quoted-printable')),
  'raw: calendar in base64': raw(typed(CALENDAR, 'base64')),
  'raw: multipart': raw(multipart('text/plain', 'quoted-printable')),
  'raw: message in message': raw(typed('message/rfc822', '8bit', '\r\nFrom: c@example.net\r\n')),
  'raw: digest': raw(mailOf('Content-Type: multipart/digest; boundary=b\r\n\r\n--b\r\n')),
  'raw: header': raw(mailOf('X-Text: a\r\n '), { most: 60 * 1024 }),
  'raw: From': raw((unit, bytes) => Buffer.concat([Buffer.from('From: '), asMail(unit, bytes)]), { most: 60 * 1024 }),
  'raw: Subject': raw(
    (unit, bytes) => Buffer.concat([Buffer.from(`${HEADER.replace('s\r', '\r')} `), asMail(unit, bytes)]),
    {
      most: 60 * 1024,
    },
  ),
  'report: text': reported(typed('text/plain')),
  'report: HTML': reported(typed('text/html', 'quoted-printable')),
  'report: base64': reported(typed('text/plain', 'base64')),
  'report: status': reported(multipart('message/delivery-status', '8bit')),
  'report: complaint': reported(multipart('message/feedback-report', '8bit')),
  'report: copy': reported(multipart('message/rfc822', '8bit')),
  'report: header': reported(mailOf('X-Text: a\r\n ')),
  'dashboard: text': displayed(typed('text/plain')),
  'dashboard: quoted-printable': displayed(typed('text/html', 'quoted-printable')),
  'dashboard: base64': displayed(typed('text/html', 'base64')),
  'dashboard: multipart': displayed(multipart('text/plain', 'quoted-printable')),
  inbox: {
    door: 'raw',
    make: typed('text/plain'),
    read(input) {
      const inbox = new Inbox({ messageIdOf: () => 'm', newId: () => 'i' })
      const arrival = inbox.begin({ returnPath: 'r', recipients: [] })!
      for (let at = 0; at < input.length; at += 65_536) arrival.add(input.subarray(at, at + 65_536))
      arrival.keep()
      return inbox.messages()
    },
  },
  'erasure: request': {
    door: 'erasure',
    make: filled,
    read: (input) =>
      mentions(MESSAGES, { request: { text: input.toString(), to: [] }, tag: null, checks: null }, WANTED),
  },
  'file of addresses: CSV': { door: 'files', make: filled, read: (input) => settled(() => readAddressList(input)) },
  'file of addresses: JSON': {
    door: 'files',
    make: (unit, bytes) => filled(`["${unit}`, bytes),
    read: (input) => settled(() => readAddressList(input)),
  },
  'receipt: saved copy': {
    door: 'receipts',
    make: typed('text/plain'),
    read: (input) => findSentOctets(input, 'sha-256:0'),
  },
}
