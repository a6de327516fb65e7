import { hash } from 'node:crypto'
import { decodeWords } from '../../mail/mime/encoded-words.ts'
import { valuesOf } from '../../mail/mime/raw/header.ts'
import { octetsOf } from '../../mail/mime/raw/parts.ts'
import { type RawMessage, readRawHeader } from '../../mail/mime/raw/read-raw.ts'
import { bufferOf } from '../../net/bytes.ts'
import { inThreadIfLarge } from '../async/threads.ts'

/** A program that builds a message again writes a new Date and new boundaries, and may choose other encodings. */
const SAID = ['from', 'to', 'cc', 'subject']

type Given = Pick<RawMessage, 'source' | 'parts'>

/** SHA-256 in hex of what a message says to its reader: From, To, Cc, Subject, and each part that is no multipart. */
export function digestOfContent({ source, parts }: Given): string {
  const content = bufferOf(source)
  const header = readRawHeader(content, { mayBeUtf8: true })
  const fields = 'fault' in header ? [] : header.fields
  const said = SAID.map((name) => valuesOf(fields, name).map((value) => decodeWords(value).replace(/\s+/g, ' ')))
  // A message within the message is one part, whatever it holds.
  const leaves = parts
    .filter(({ isForwarded }) => !isForwarded)
    .map((part) => [part.type, part.filename ?? null, hash('sha256', octetsOf(part, content), 'hex')])
  return hash('sha256', JSON.stringify([said, leaves]), 'hex')
}

/** As `digestOfContent`, without keeping the event loop for a large message. */
export const digestAside = inThreadIfLarge(import.meta.url, digestOfContent)

/** What a message has in common with its repeats. */
export interface SameMessage {
  /** A dry run. */
  sandbox: boolean
  /** The program's own key. */
  idempotencyKey?: string
  messageId?: string
  digest: string
  /** A retry has the tenant of the first message. */
  tenantId?: string
  /** Its repeats have the same Message-ID: a mail server sends it again. */
  keepsMessageId?: boolean
}

/** The keys of a recipient: SHA-256 in hex. */
export interface RecipientKeys {
  /** By which a repeat is known. Absent without a Message-ID and an idempotency key. */
  own?: string
  /** Beside an idempotency key: held by the same message as `own` only when the content is the same. */
  ofKeyAndContent?: string
  /** The key of the content alone, for repeats with a new Message-ID. Absent where there are none. */
  ofContent?: string
}

export function keysOfRecipient(
  { sandbox, idempotencyKey, messageId, digest, tenantId, keepsMessageId }: SameMessage,
  address: string,
): RecipientKeys {
  const at = address.lastIndexOf('@')
  const recipient = address.slice(0, at) + address.slice(at).toLowerCase()
  const keyOf = (...common: unknown[]) => hash('sha256', JSON.stringify([...common, recipient]), 'hex')
  if (idempotencyKey !== undefined) {
    return {
      own: keyOf('key', sandbox, idempotencyKey),
      ofKeyAndContent: keyOf('key', sandbox, idempotencyKey, digest),
    }
  }
  const own = messageId === undefined ? undefined : keyOf(sandbox, messageId, digest)
  return { own, ofContent: keepsMessageId ? undefined : keyOf(sandbox, null, digest, tenantId) }
}
