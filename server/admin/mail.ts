import { decodeWords } from '../../mail/mime/encoded-words.ts'
import { valuesOf } from '../../mail/mime/raw/header.ts'
import { decodePart, octetsOf } from '../../mail/mime/raw/parts.ts'
import { readRawBody, readRawHeader } from '../../mail/mime/raw/read-raw.ts'
import { bufferOf } from '../../net/bytes.ts'
import { inThreadIfLarge } from '../async/threads.ts'

/** A message as a mail reader sees it. Its text is what the sender wrote, with control characters and all. */
export interface DisplayedMail {
  /** The From header, decoded. */
  from: string
  subject: string
  /** In their order, unfolded and decoded. */
  headers: { name: string; value: string }[]
  text?: string
  html?: string
  files: MailFile[]
}

interface MailFile {
  filename: string
  contentType: string
  content: Uint8Array
  /** Without its angle brackets. */
  contentId?: string
  /** Whether it belongs to the html. */
  inline: boolean
}

const UNREADABLE: DisplayedMail = { from: '', subject: '', headers: [], files: [] }

/** As `readMail`, without keeping the event loop for a large message. */
export const readMailAside = inThreadIfLarge(import.meta.url, readMail)

/** Reads a message as it was sent. Of a message with a fault in its form, only the source can be shown. */
export function readMail(octets: Uint8Array): DisplayedMail {
  const source = bufferOf(octets)
  const header = readRawHeader(source, { mayBeUtf8: true })
  if ('fault' in header) return UNREADABLE
  const body = readRawBody(source, header)
  if ('fault' in body) return UNREADABLE
  const fieldOf = (name: string) => decodeWords(valuesOf(header.fields, name)[0] ?? '')
  const own = body.parts.filter(({ isForwarded }) => !isForwarded)
  const bodyOf = (type: string) => {
    const parts = own.filter((part) => part.type === type && !part.isAttached)
    return parts.length === 0 ? undefined : parts.map((part) => decodePart(part, source)).join('')
  }
  return {
    from: fieldOf('from'),
    subject: fieldOf('subject'),
    headers: header.fields.map(({ name, value, start }) => {
      return { name: source.toString('latin1', start, start + name.length), value: decodeWords(value) }
    }),
    text: bodyOf('text/plain'),
    html: bodyOf('text/html'),
    files: own
      .filter(({ type, isAttached }) => isAttached || !BODIES.includes(type))
      .map((part) => ({
        filename: part.filename ?? '',
        contentType: part.type,
        content: octetsOf(part, source),
        contentId: part.contentId,
        inline: part.isInline,
      })),
  }
}

const BODIES = ['text/plain', 'text/html']
