import { createHash } from 'node:crypto'
import { lookup } from 'mime-types'
import type { Mailbox } from '../address.ts'
import { BOUNDARY_START, type Entity, encodeBase64, encodeText } from './encode.ts'
import { addressField, customField, field, parameter, textField } from './fields.ts'
import { safeFilename } from './filename.ts'

export interface Attachment {
  /** The caller's own text; see `safeFilename`. */
  filename: string
  content: Uint8Array
}

export interface Message {
  /** Without its angle brackets. */
  messageId: string
  date: Date
  from: Mailbox
  to: readonly Mailbox[]
  cc?: readonly Mailbox[]
  replyTo?: readonly Mailbox[]
  subject: string
  /** At least one of html and text. */
  html?: string
  text?: string
  /** `headerFault` found no fault in any of them. */
  headers: readonly (readonly [name: string, value: string])[]
  attachments: readonly Attachment[]
  /** The boundaries derive from it, so that equal arguments make equal bytes. */
  boundarySeed: string
}

/**
 * The message in pieces, because attachments are too large to copy: ASCII, CRLF line ends only, no line over 998
 * characters, ends with CRLF. The first piece contains the whole header. Equal arguments make equal bytes.
 */
export function buildMessage(message: Message): Buffer[] {
  const { fields, body } = entity(message)
  const head = Buffer.from(`${header(message)}${fields}\r\n`, 'latin1')
  return joinSmall(head, endsLine(body.at(-1)!) ? body : [...body, CRLF])
}

/** The fields in the order of RFC 5322 3.6; the transport puts its own fields in front. */
function header(message: Message): string {
  return [
    field('Date', message.date.toUTCString().replace('GMT', '+0000')),
    addressField('From', [message.from]),
    message.replyTo?.length ? addressField('Reply-To', message.replyTo) : '',
    addressField('To', message.to),
    message.cc?.length ? addressField('Cc', message.cc) : '',
    textField('Subject', message.subject),
    field('Message-ID', `<${message.messageId}>`),
    ...message.headers.map(([name, value]) => customField(name, value)),
    'MIME-Version: 1.0\r\n',
  ].join('')
}

/** The text, the html, or both as alternatives (the last is the best, RFC 2046 5.1.4), then the attachments. */
function entity({ text, html, attachments, boundarySeed }: Message): Entity {
  const bodies: Entity[] = []
  if (text !== undefined) bodies.push(textPart('plain', text))
  if (html !== undefined) bodies.push(textPart('html', html))
  const body = bodies.length === 1 ? bodies[0]! : multipart('alternative', bodies, boundarySeed)
  return attachments.length === 0 ? body : multipart('mixed', [body, ...attachments.map(attachmentPart)], boundarySeed)
}

function textPart(subtype: 'plain' | 'html', text: string): Entity {
  const { encoding, content } = encodeText(text)
  return {
    fields: `Content-Type: text/${subtype}; charset=utf-8\r\nContent-Transfer-Encoding: ${encoding}\r\n`,
    body: [content],
  }
}

function attachmentPart({ filename, content }: Attachment): Entity {
  return {
    fields:
      `Content-Type: ${attachmentType(filename)}\r\nContent-Transfer-Encoding: base64\r\n` +
      `Content-Disposition: attachment${parameter('filename', safeFilename(filename))}\r\n`,
    body: [encodeBase64(content)],
  }
}

/**
 * The media type by the extension. A message or multipart travels as plain octets: readers would unpack it, and filters
 * that look only at the outer message would miss it.
 */
export function attachmentType(filename: string): string {
  const type = lookup(safeFilename(filename))
  return type === false || /^(?:message|multipart)\//.test(type) ? 'application/octet-stream' : type
}

function multipart(subtype: 'alternative' | 'mixed', parts: readonly Entity[], seed: string): Entity {
  const boundary = BOUNDARY_START + createHash('sha256').update(`${subtype} ${seed}`).digest('hex').slice(0, 40)
  // The line end before a boundary belongs to it (RFC 2046 5.1.1). The first boundary follows the empty line after the
  // fields.
  const pieces = parts.flatMap(({ fields, body }, index) => [
    Buffer.from(`${index === 0 ? '' : '\r\n'}--${boundary}\r\n${fields}\r\n`, 'latin1'),
    ...body,
  ])
  return {
    fields: `Content-Type: multipart/${subtype};\r\n boundary="${boundary}"\r\n`,
    body: [...pieces, Buffer.from(`\r\n--${boundary}--\r\n`, 'latin1')],
  }
}

const CRLF = Buffer.from('\r\n')

function endsLine(piece: Buffer): boolean {
  return piece.length >= 2 && piece.subarray(-2).equals(CRLF)
}

/** Octets. A piece of this size stays as it is; a smaller one costs less to copy than to write separately. */
const LARGE = 64 * 1024

function joinSmall(head: Buffer, pieces: readonly Buffer[]): Buffer[] {
  const joined: Buffer[] = []
  let small = [head]
  for (const piece of pieces) {
    if (piece.length < LARGE) {
      small.push(piece)
      continue
    }
    joined.push(Buffer.concat(small), piece)
    small = []
  }
  return small.length === 0 ? joined : [...joined, Buffer.concat(small)]
}
