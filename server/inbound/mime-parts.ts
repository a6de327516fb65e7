import PostalMime from 'postal-mime'
import { decodeWords } from '../../mail/mime/encoded-words.ts'
import { bufferOf } from '../../net/bytes.ts'
import { aside } from './aside.ts'
import { condense } from './condense.ts'

/** A report in its parts. */
export interface Parts {
  /** The first field with this name, decoded. */
  header(name: string): string
  /** The text for people: the first text part, or that of the HTML part where there is no other. */
  text: string
  /** The content of the first part with one of these media types; undefined when there is none. */
  part(...types: string[]): string | undefined
  /** The contents of all parts that are not a copy of the message. */
  statements: string[]
  /** The attached copy of the message, as it came and decoded; empty when there is none. */
  copy: string
}

const MAX_HEADER_BYTES = 64 * 1024
const MAX_BODY_BYTES = 256 * 1024
const MAX_DEPTH = 10
const COPIES = new Set(['message/rfc822', 'message/global', 'text/rfc822-headers', 'message/global-headers'])

const isCopy = ({ mimeType }: { mimeType: string }) => COPIES.has(mimeType)

/** The parser throws on parts nested too deep, and on headers too large: then there is nothing to read. */
const parse = (mail: Buffer) =>
  PostalMime.parse(condense(mail), {
    forceRfc822Attachments: true,
    maxHeadersSize: MAX_HEADER_BYTES,
    maxNestingDepth: MAX_DEPTH,
  }).catch(() => undefined)

/**
 * The text of a mail and what is attached to it, decoded; and the same of attached messages, which may be encoded once
 * more.
 *
 * @param depth how many attached messages may be one within the other
 */
export async function decodedTexts(mail: Uint8Array, depth = 2): Promise<string[]> {
  const email = await parse(bufferOf(mail))
  if (!email) return []
  const texts = [email.text, email.html].filter((text) => text !== undefined)
  for (const { mimeType, content } of email.attachments) {
    texts.push(textOf(content))
    if (depth > 0 && isCopy({ mimeType })) texts.push(...(await decodedTexts(Buffer.from(textOf(content)), depth - 1)))
  }
  return texts
}

/** As `decodedTexts`, without keeping the event loop for a large mail. */
export const decodedTextsAside = aside(import.meta.url, decodedTexts)

export async function readParts(mail: Buffer): Promise<Parts | undefined> {
  const email = await parse(mail)
  if (!email) return undefined
  const isEmpty = !email.html?.trim() && email.attachments.length === 0
  // A multipart whose boundary never comes has no parts: then the body itself is read.
  const text = email.text?.trim() ? email.text : isEmpty ? bodyOf(mail) : textOfHtml(email.html ?? '')
  const [attached = ''] = email.attachments.filter(isCopy).map(({ content }) => textOf(content))
  const contents = email.attachments.filter((attachment) => !isCopy(attachment)).map(({ content }) => textOf(content))
  return {
    header: (name) => decodeWords(email.headers.find(({ key }) => key === name)?.value ?? ''),
    text,
    part(...types) {
      const content = email.attachments.find(({ mimeType }) => types.includes(mimeType))?.content
      return content === undefined ? undefined : textOf(content)
    },
    statements: [text, ...contents],
    copy: [attached, ...(await decodedTexts(Buffer.from(attached), 0))].join('\n'),
  }
}

/** What follows the header, and the header of the first part where a line looks like a boundary. */
function bodyOf(mail: Buffer): string {
  const body = afterBlankLine(mail.toString('utf8', 0, MAX_BODY_BYTES).replaceAll('\r\n', '\n'))
  const boundary = body.search(/^--\S/m)
  return boundary < 0 ? body : afterBlankLine(body.slice(boundary))
}

function afterBlankLine(text: string): string {
  const end = text.indexOf('\n\n')
  return end < 0 ? '' : text.slice(end + 2)
}

function textOf(content: ArrayBuffer | Uint8Array | string): string {
  return Buffer.from(content as ArrayBuffer).toString('utf8')
}

const ENTITIES: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"', nbsp: ' ', '#39': "'", '#x27': "'" }

/** The words of an HTML page, one line for each block. An address in brackets is no tag, escaped or not. */
function textOfHtml(html: string): string {
  return html
    .replace(/<(style|script)\b[\s\S]*?(?:<\/\1\s*>|$)/gi, ' ')
    .replace(/<(?:br|\/p|\/div|\/tr|\/li|\/h\d|\/td)\b[^<>]{0,200}>/gi, '\n')
    .replace(/<(?![^<>\s@"]{1,64}@[^<>\s"]{1,253}>)[^<>]{0,2000}>/g, ' ')
    .replace(/&(#?\w{1,6});/g, (whole, name: string) => ENTITIES[name.toLowerCase()] ?? whole)
}
