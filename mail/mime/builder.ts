import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { lookup } from 'mime-types'
import type { Mailbox } from '../address.ts'
import { isInvitation } from './calendar.ts'
import { BOUNDARY_START, type Entity, encodeBase64, encodeText } from './encode.ts'
import { safeFilename } from './filename.ts'
import { addressField, customField, field, parameter, rfcDate, textField } from './header-fields.ts'
import { isToken, parameterOf, readParameters, showParameterised } from './parameters.ts'

export interface Attachment {
  /** The caller's own text; see `safeFilename`. */
  filename: string
  content: Uint8Array
  /** `type/subtype` and its parameters; by default it follows from the extension. */
  contentType?: string
  /** Makes it an inline part, which the html names as `cid:` and this. Without its angle brackets. */
  contentId?: string
}

export interface MimeMessage {
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
 * The message in pieces, because attachments are too large to copy: ASCII but for addresses in the header, CRLF line
 * ends only, no line over 998 octets, ends with CRLF. The first piece contains the whole header. Equal arguments make
 * equal bytes.
 */
export function buildMessage(message: MimeMessage): Buffer[] {
  const { fields, body } = entity(message)
  const head = Buffer.from(`${header(message)}${fields}\r\n`)
  const last = body.at(-1)
  return joinSmall(head, last && endsLine(last) ? body : [...body, CRLF])
}

/** The fields in the order of RFC 5322 3.6; the transport puts its own fields in front. */
function header(message: MimeMessage): string {
  return [
    field('Date', rfcDate(message.date)),
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

/**
 * The text, the html, or both as alternatives (the last is the best, RFC 2046 5.1.4); around them the inline parts, and
 * around all of these the attachments. Gmail writes the same order, so every reader knows it. An invitation is the last
 * alternative, where calendar clients look for it (RFC 6047 2.4), and a file beside it, for every other reader.
 */
function entity({ text, html, attachments, boundarySeed }: MimeMessage): Entity {
  const bodies: Entity[] = []
  if (text !== undefined) bodies.push(textPart('plain', text))
  if (html !== undefined) bodies.push(textPart('html', html))
  const invitation = attachments.find((file) => isInvitation(readParameters(attachmentType(file))))
  if (invitation) bodies.push(calendarPart(invitation))
  const { inline = [], attached = [] } = Object.groupBy(attachments, ({ contentId }) =>
    contentId === undefined ? 'attached' : 'inline',
  )
  const around = (subtype: Multipart, parts: Entity[]) => {
    const [first, ...others] = parts
    return first && others.length === 0 ? first : multipart(subtype, parts, boundarySeed)
  }
  const body = around('alternative', bodies)
  const related = around('related', [body, ...inline.map(attachmentPart)])
  return around('mixed', [related, ...attached.map(attachmentPart)])
}

function textPart(subtype: 'plain' | 'html', text: string): Entity {
  const { encoding, content } = encodeText(text)
  return {
    fields: `Content-Type: text/${subtype}; charset=utf-8\r\nContent-Transfer-Encoding: ${encoding}\r\n`,
    body: [content],
  }
}

function calendarPart(attachment: Attachment): Entity {
  return {
    fields: `${typeField(attachment)}Content-Transfer-Encoding: base64\r\n`,
    body: [encodeBase64(attachment.content)],
  }
}

function attachmentPart(attachment: Attachment): Entity {
  const { filename, content, contentId } = attachment
  return {
    fields: [
      typeField(attachment),
      'Content-Transfer-Encoding: base64\r\n',
      contentId === undefined ? '' : field('Content-ID', `<${contentId}>`),
      `Content-Disposition: ${contentId === undefined ? 'attachment' : 'inline'}`,
      `${parameter('filename', safeFilename(filename))}\r\n`,
    ].join(''),
    body: [encodeBase64(content)],
  }
}

/** Readers take text without a charset for ASCII or for their own. */
function typeField(attachment: Attachment): string {
  const type = readParameters(attachmentType(attachment))
  const isPlainUtf8 =
    type.value.startsWith('text/') && parameterOf(type, 'charset') === undefined && isUtf8(attachment.content)
  const parameters = isPlainUtf8 ? [['charset', 'utf-8'] as [string, string], ...type.parameters] : type.parameters
  // Some readers keep the line end of a fold within quotes, so quoted values have lines of their own.
  const [tokens, others] = [
    parameters.filter(([, text]) => isToken(text)),
    parameters.filter(([, text]) => !isToken(text)),
  ]
  const words = field('Content-Type', showParameterised({ value: type.value, parameters: tokens })).trimEnd()
  return `${words}${others.map(([name, text]) => parameter(name, text)).join('')}\r\n`
}

/**
 * The media type that the caller gave, with its parameters, or the one of the extension. A message or multipart travels
 * as plain octets: readers would unpack it, and filters that look only at the outer message would miss it.
 */
export function attachmentType({ filename, contentType }: Pick<Attachment, 'filename' | 'contentType'>): string {
  const type =
    contentType === undefined ? lookup(safeFilename(filename)) : showParameterised(readParameters(contentType))
  return type === false || /^(?:message|multipart)\//.test(type) ? 'application/octet-stream' : type
}

type Multipart = 'alternative' | 'related' | 'mixed'

function multipart(subtype: Multipart, parts: readonly Entity[], seed: string): Entity {
  const boundary = BOUNDARY_START + createHash('sha256').update(`${subtype} ${seed}`).digest('hex').slice(0, 40)
  // The line end before a boundary belongs to it (RFC 2046 5.1.1). The first boundary follows the empty line after the
  // fields.
  const pieces = parts.flatMap(({ fields, body }, index) => [
    Buffer.from(`${index === 0 ? '' : '\r\n'}--${boundary}\r\n${fields}\r\n`, 'latin1'),
    ...body,
  ])
  // RFC 2387 3.1 requires the type of the first part.
  const [first] = parts
  const type = first && subtype === 'related' ? `\r\n type="${typeOf(first)}";` : ''
  return {
    fields: `Content-Type: multipart/${subtype};${type}\r\n boundary="${boundary}"\r\n`,
    body: [...pieces, Buffer.from(`\r\n--${boundary}--\r\n`, 'latin1')],
  }
}

function typeOf({ fields }: Entity): string {
  const [, type] = /^Content-Type: ([^;\r]+)/.exec(fields) ?? []
  if (type === undefined) throw new Error('a part has no type')
  return type
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
