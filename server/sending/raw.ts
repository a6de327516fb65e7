import type { SendRequest } from '../../gen/verdict/v1/emails_pb.ts'
import { parseMailbox } from '../../mail/address.ts'
import { safeFilename } from '../../mail/mime/filename.ts'
import { decodePart, type MimePart } from '../../mail/mime/raw/parts.ts'
import {
  type RawBody,
  type RawHeader,
  type RawMessage,
  rawMessage,
  readRawHeader,
} from '../../mail/mime/raw/read-raw.ts'
import { bufferOf } from '../../net/bytes.ts'
import { cleanText } from '../../net/clean-text.ts'
import { inThreadIfLarge } from '../async/threads.ts'
import type { StoredRequest } from '../db/json-columns.ts'
import type { FieldFault } from '../errors.ts'

// `raw`: a whole message instead of its parts.

type Refuse = (field: string, message: string) => void

/** What the door at which a raw message came says of it. */
export interface RawOptions {
  /** The program has declared that the header may hold UTF-8: MAIL FROM with SMTPUTF8 (RFC 6531). */
  mayBeUtf8?: boolean
  /** What errors call the message: `raw` by default. */
  rawName?: string
}

/** The header of a raw message, or what is wrong with its form. */
export function readHeaderOf(raw: Uint8Array, options?: RawOptions): RawHeader | { fault: string } {
  return readRawHeader(bufferOf(raw), options)
}

/** Checks a raw message. Returns undefined after it has refused something. */
export function readRawMessage(
  request: SendRequest,
  refuse: Refuse,
  {
    header,
    body,
    rawName = 'raw',
  }: { header: RawHeader | { fault: string }; body?: RawBody | { fault: string } } & RawOptions,
): RawMessage | undefined {
  for (const { field, message } of besideRaw(request)) refuse(field, message)
  if ('fault' in header) return void refuse(rawName, header.fault)
  // A header that can be read has contents.
  const read = body!
  if ('fault' in read) return void refuse(rawName, read.fault)
  const given = request.from === '' ? undefined : parseMailbox(request.from)
  if (given && given.address.toLowerCase() !== header.from.address.toLowerCase()) {
    refuse('from', `differs from the From header of raw, which is ${header.from.address}`)
  }
  return rawMessage(bufferOf(request.raw!), header, read)
}

/** The fields that a raw message replaces. */
function besideRaw({ subject, html, text, attachments, headers, replyTo, autoText }: SendRequest): FieldFault[] {
  const given = {
    subject: subject !== '',
    html: html !== undefined,
    text: text !== undefined,
    attachments: attachments.length > 0,
    headers: Object.keys(headers).length > 0,
    reply_to: replyTo.length > 0,
    auto_text: autoText !== undefined,
  }
  return Object.entries(given).flatMap(([field, isGiven]) =>
    isGiven ? [{ field, message: 'must be absent beside raw, which holds the whole message' }] : [],
  )
}

/** What Get email shows of the files of a raw message. */
export function attachmentsOf({ parts }: RawMessage): StoredRequest['attachments'] {
  return parts.filter(isFile).map((part) => ({
    filename: safeFilename(part.filename ?? ''),
    content_type: cleanText(part.shownType),
    content_id: part.contentId && cleanText(part.contentId),
    size_bytes: part.size,
  }))
}

export interface Bodies {
  html?: string
  text?: string
}

/** The bodies that a reader shows: the first part of each kind that is no file. */
export function bodiesOf({ source, parts }: Pick<RawMessage, 'source' | 'parts'>): Bodies {
  const body = (type: string) => {
    const part = parts.find((part) => part.type === type && !part.isAttached && !part.isForwarded)
    return part && decodePart(part, bufferOf(source)).replaceAll('\0', '\uFFFD')
  }
  return { html: body('text/html'), text: body('text/plain') }
}

/** As `bodiesOf`, without keeping the event loop for a large message. */
export const bodiesAside = inThreadIfLarge(import.meta.url, bodiesOf)

const isFile = ({ isAttached, isForwarded }: MimePart) => isAttached && !isForwarded
