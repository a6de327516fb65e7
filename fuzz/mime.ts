// The law: Python's `email`, Go's `net/mail` and postal-mime read from a message exactly what it was built of.

import assert from 'node:assert/strict'
import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import { ConnectError } from '@connectrpc/connect'
import fc from 'fast-check'
import { SendRequestSchema } from '../gen/verdict/v1/emails_pb.ts'
import type { Mailbox } from '../mail/address.ts'
import { type Attachment, attachmentType, buildMessage } from '../mail/mime/builder.ts'
import { isInvitation } from '../mail/mime/calendar.ts'
import { safeFilename } from '../mail/mime/filename.ts'
import { readParameters } from '../mail/mime/parameters.ts'
import { type Message, readSendRequest } from '../server/sending/message.ts'
import { anyCharacter } from '../test/harness/text.ts'
import {
  asBase64,
  filesOf,
  foldedByGo,
  lineFeeds,
  type Part,
  type Read,
  readBy,
  readByPostalMime,
  type Shown,
  withoutQuotes,
} from './readers/message.ts'
import { startGo, startPython } from './readers/reader.ts'
import type { Target } from './target.ts'

/** Text in which a line, a word, a quote or an encoding may end. */
const PIECES = [
  ...['a', ' ', '  ', '"', '\\', "'", '(', ')', '<', '>', ',', ';', ':', '@', '.', '=', '?', '_', '%', '*', '/'],
  ...['=?utf-8?q?a?=', '=?', '?=', "UTF-8''%41", '--', '--=_', 'ü', '世界', '👩‍💻', '\u0301', '\u00a0', '\u200d'],
  ...['word '.repeat(20), 'x'.repeat(80), 'x'.repeat(900), 'é'.repeat(60), ' '.repeat(70)],
]
const SEED = 'msg_1'
/** What ends a part, if a text may contain it. */
const BOUNDARIES = ['alternative', 'related', 'mixed'].map((subtype) => {
  return `\n--=_${createHash('sha256').update(`${subtype} ${SEED}`).digest('hex').slice(0, 40)}`
})
const LINES = [
  '\n',
  '\r\n',
  '\r',
  '\t',
  '\n.',
  '\nFrom ',
  '\n--=_',
  '\n ',
  '=\n',
  '\x0b',
  '\x0c',
  '\x85',
  '\u2028',
  ...BOUNDARIES,
]

const joined = (pieces: fc.Arbitrary<string>, maxLength = 10) =>
  fc.array(pieces, { maxLength }).map((parts) => parts.join(''))
const character = fc.string({ unit: anyCharacter, minLength: 1, maxLength: 1 })
const line = joined(fc.oneof(fc.constantFrom(...PIECES), character)).map((text) => text.replace(/\p{Cc}/gu, ''))
const short = fc.oneof(
  joined(fc.constantFrom(...PIECES.filter((piece) => piece.length < 20)), 6),
  fc.string({ unit: 'grapheme' }),
)
const lines = fc.oneof(
  joined(fc.oneof(fc.constantFrom(...PIECES, ...LINES), character), 30).map((text) => text.replaceAll('\0', '')),
  fc.lorem({ maxCount: 60 }),
)

const local = fc.constantFrom('ann', 'Ann.Lee+tag', '"two words"', '"a@b"', '"q\\"\\\\"', 'x'.repeat(64), '"."', "o'x")
const domain = fc.constantFrom('b.example.com', 'bücher.example', `${'d'.repeat(63)}.example`)
const name = short.map((text) => `"${text.replace(/["\\]/g, '\\$&')}"`)
const mailboxOf = (local: fc.Arbitrary<string>) =>
  fc.tuple(fc.option(name), local, domain).map(([name, local, domain]) => `${name ?? ''} <${local}@${domain}>`)
const mailbox = mailboxOf(fc.oneof(local, fc.constantFrom('üser', '用户', '"ü x"')))

const headerName = fc.oneof(
  fc.constantFrom('X-Value', 'List-Unsubscribe', 'Comments', `X-${'y'.repeat(74)}`),
  fc.stringMatching(/^X-[A-Za-z0-9-]{1,20}$/),
)
const type = fc.oneof(
  fc.constantFrom('text/plain', 'image/png', 'text/calendar; method=REQUEST', 'Application/X-B', 'text/html'),
  fc.tuple(fc.constantFrom('text/plain', 'application/pdf'), short).map(([type, text]) => {
    return `${type}; name="${text.replace(/["\\]/g, '\\$&')}"`
  }),
  fc.constant('text/csv; charset=iso-8859-1'),
)
const optional = <Value>(values: fc.Arbitrary<Value>) => fc.option(values, { nil: undefined })
const file = fc.record({
  filename: fc.oneof(
    short,
    short.map((text) => `${text}.pdf`),
    line,
  ),
  content: fc
    .oneof(
      fc.uint8Array({ maxLength: 200 }),
      lines.map((text) => Buffer.from(text)),
    )
    .map(asBase64),
  contentType: optional(type),
  contentId: optional(fc.stringMatching(/^[A-Za-z0-9._@+-]{1,20}$/)),
})
const request = fc.record({
  from: mailboxOf(local),
  to: fc.array(mailbox, { minLength: 1, maxLength: 5 }),
  cc: fc.array(mailbox, { maxLength: 3 }),
  replyTo: fc.array(mailbox, { maxLength: 3 }),
  subject: fc.oneof(line, short),
  text: optional(lines),
  html: optional(lines),
  headers: fc.dictionary(headerName, line, { maxKeys: 3 }),
  attachments: fc.array(file, { maxLength: 3 }),
  dateMs: fc.integer({ min: 0, max: 4_000_000_000 }).map((seconds) => seconds * 1_000),
})
type Input = typeof request extends fc.Arbitrary<infer I> ? I : never
/** A message has a body, and its inline files are shown by its html. */
const inputs = request.map(({ attachments, text, ...fields }): Input => {
  const { html } = fields
  const inline = html ? attachments : attachments.map(({ contentId, ...file }) => ({ ...file, contentId: undefined }))
  return { ...fields, text: html ? text : text || 'Hello', attachments: inline }
})

export const mime: Target<Input> = {
  inputs,
  async start() {
    const python = await startPython()
    const go = await startGo()

    async function check(input: Input): Promise<void> {
      const message = accepted(input)
      if (!message) return
      const built = {
        messageId: 'msg_1@rp.shop.example',
        boundarySeed: SEED,
        date: new Date(input.dateMs),
        ...message,
      }
      const octets = Buffer.concat(buildMessage(built))
      const expected = expectedOf(built)
      assert.deepEqual(await readBy(python, octets, built.headers), expected, 'Python reads something else')
      assert.deepEqual(
        foldedByGo(await readBy(go, octets, built.headers)),
        foldedByGo(expected),
        'Go reads something else',
      )
      // postal-mime takes every inline text for text of the message.
      if (expected.parts.some(({ type, disposition }) => type.startsWith('text/') && disposition === 'inline')) return
      assert.deepEqual(await readByPostalMime(octets), filesOf(expected), 'postal-mime reads something else')
    }

    return { check, stop: () => Promise.all([python.stop(), go.stop()]).then(() => {}) }
  },
}

type Built = Message & { messageId: string; date: Date }

/** The message of a request without faults. */
function accepted({ dateMs, attachments, ...fields }: Input): Message | undefined {
  const files = attachments.map((file) => ({ ...file, content: Buffer.from(file.content, 'base64') }))
  try {
    return readSendRequest(create(SendRequestSchema, { ...fields, attachments: files }))
  } catch (error) {
    if (error instanceof ConnectError) return undefined
    throw error
  }
}

function expectedOf(message: Built): Read {
  const { attachments } = message
  const shown = (mailboxes: readonly Mailbox[]) =>
    mailboxes.map(({ name = '', address }): Shown => [name, withoutQuotes(address)])
  const { inline = [], attached = [] } = Object.groupBy(attachments, ({ contentId }) =>
    contentId === undefined ? 'attached' : 'inline',
  )
  const invitation = attachments.find((file) => isInvitation(readParameters(attachmentType(file))))
  return {
    from: shown([message.from]),
    to: shown(message.to),
    cc: shown(message.cc),
    replyTo: shown(message.replyTo),
    subject: message.subject,
    messageId: `<${message.messageId}>`,
    dateMs: message.date.getTime(),
    headers: message.headers.map(([name, value]) => [name.toLowerCase(), value.trim()]),
    parts: [
      ...(message.text === undefined ? [] : [textPart('plain', message.text)]),
      ...(message.html === undefined ? [] : [textPart('html', message.html)]),
      ...(invitation ? [{ ...filePart(invitation), disposition: '', dispositionParameters: {}, contentId: '' }] : []),
      ...[...inline, ...attached].map(filePart),
    ],
  }
}

const NO_FILE = { disposition: '', dispositionParameters: {}, contentId: '' }

function textPart(subtype: string, text: string): Part {
  const content = lineFeeds(Buffer.from(text).toString())
  return { type: `text/${subtype}`, parameters: { charset: 'utf-8' }, ...NO_FILE, content }
}

function filePart(file: Attachment): Part {
  const { value, parameters } = readParameters(attachmentType(file))
  const charset: Part['parameters'] = value.startsWith('text/') && isUtf8(file.content) ? { charset: 'utf-8' } : {}
  return {
    type: value,
    parameters: { ...charset, ...Object.fromEntries(parameters) },
    disposition: file.contentId === undefined ? 'attachment' : 'inline',
    dispositionParameters: { filename: safeFilename(file.filename) },
    contentId: file.contentId === undefined ? '' : `<${file.contentId}>`,
    content: asBase64(file.content),
  }
}
