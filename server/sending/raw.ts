import type { SendRequest } from '../../gen/verdict/v1/emails_pb.ts'
import { parseMailbox } from '../../mail/address.ts'
import { safeFilename } from '../../mail/mime/filename.ts'
import { decodePart, type MimePart } from '../../mail/mime/raw/parts.ts'
import { type RawMessage, readRaw } from '../../mail/mime/raw/read-raw.ts'
import { cleanText } from '../../net/clean-text.ts'
import type { StoredRequest } from '../db/json-columns.ts'
import type { FieldFault } from '../errors.ts'

// `raw`: a whole message instead of its parts.

type Refuse = (field: string, message: string) => void

/** What the door at which a raw message came says of it. */
export interface RawOptions {
  /** The program has declared that the header may hold UTF-8: MAIL FROM with SMTPUTF8 (RFC 6531). */
  mayBeUtf8?: boolean
}

/** Checks a raw message. Returns undefined after it has refused something. */
export function readRawMessage(request: SendRequest, refuse: Refuse, options?: RawOptions): RawMessage | undefined {
  for (const { field, message } of besideRaw(request)) refuse(field, message)
  const { raw, from } = request
  const message = readRaw(Buffer.from(raw!.buffer, raw!.byteOffset, raw!.length), options)
  if ('fault' in message) {
    refuse('raw', message.fault)
    return undefined
  }
  const given = from === '' ? undefined : parseMailbox(from)
  if (given && given.address.toLowerCase() !== message.from.address.toLowerCase()) {
    refuse('from', `differs from the From header of raw, which is ${message.from.address}`)
  }
  return message
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

/** The bodies that a reader shows: the first part of each kind that is no file. */
export function bodiesOf({ parts, source }: RawMessage): { html?: string; text?: string } {
  const body = (type: string) => {
    const part = parts.find((part) => part.type === type && !part.isAttached && !part.isForwarded)
    return part && decodePart(part, source).replaceAll('\0', '\uFFFD')
  }
  return { html: body('text/html'), text: body('text/plain') }
}

const isFile = ({ isAttached, isForwarded }: MimePart) => isAttached && !isForwarded
