import { createHash } from 'node:crypto'
import { showMailbox } from '../../mail/address.ts'
import { attachmentType, buildMessage, type MimeMessage } from '../../mail/mime/builder.ts'
import { type Signer, signMessage } from '../../mail/mime/dkim.ts'
import { completeRaw, type RawMessage } from '../../mail/mime/raw/read-raw.ts'
import { stuffDots, type WireContent } from '../../mail/smtp/content.ts'
import { bufferOf } from '../../net/bytes.ts'
import { inThreadIfLarge } from '../async/threads.ts'
import { publicId } from '../db/ids.ts'
import type { StoredRequest } from '../db/json-columns.ts'
import type { SenderDomain } from '../domains/sender.ts'
import type { Claim } from '../ledger/claim.ts'
import type { Message } from './message.ts'
import type { SentContent } from './outcome.ts'
import { attachmentsOf, type Bodies } from './raw.ts'

export interface ComposedMessage extends SentContent {
  content: WireContent
}

/** What `seal` makes a message of: plain values, bytes and keys, which a thread can take. */
type Unsealed = { messageId: string; date: Date; signer: Omit<Signer, 'date'> } & (
  | { built: MimeMessage; raw?: undefined }
  | { raw: Pick<RawMessage, 'header' | 'body' | 'hasDate' | 'messageId' | 'isEightBit'>; built?: undefined }
)

/** Builds and signs a message. Throws when a key cannot sign, and for octets that must never leave. */
export async function seal({ built, raw, messageId, date, signer }: Unsealed): Promise<ComposedMessage> {
  const unsigned = raw
    ? completeRaw({ ...raw, header: bufferOf(raw.header), body: raw.body.map(bufferOf) }, { messageId, date })
    : buildMessage(built)
  const pieces = [await signMessage(unsigned, { ...signer, date }), ...unsigned]
  const hash = createHash('sha256')
  for (const piece of pieces) hash.update(piece)
  const content = stuffDots(pieces, raw?.isEightBit)
  return { content, sizeBytes: pieces.reduce((sum, piece) => sum + piece.length, 0), digest: hash.digest('hex') }
}

const sealAside = inThreadIfLarge(import.meta.url, seal)

/**
 * Builds and signs a message, the step of a send between claim and SMTP; a large one in a thread. Date and boundaries
 * come from the claim, so its bytes are reproducible. Throws what `seal` throws.
 */
export async function compose(message: Message, domain: SenderDomain, claim: Claim): Promise<ComposedMessage> {
  const date = new Date(claim.createdAtMs)
  const messageId = `${publicId('msg', claim.messageId)}@${domain.returnPathHost}`
  const { raw } = message
  const unsealed: Unsealed = {
    ...(raw ? { raw: pick(raw) } : { built: { messageId, boundarySeed: claim.messageId, date, ...message } }),
    messageId,
    date,
    signer: { domain: domain.name, keys: domain.dkimKeys },
  }
  const { content, ...composed } = await sealAside(claim.accountId, unsealed)
  return { ...composed, content: { ...content, pieces: content.pieces.map(bufferOf) } }
}

/** Without `source`, which the others are pieces of. */
const pick = ({ header, body, hasDate, messageId, isEightBit }: RawMessage) => {
  return { header, body, hasDate, messageId, isEightBit }
}

/** `bodies` are kept with it. */
export function storedRequest(message: Message, bodies: Bodies = {}): StoredRequest {
  return {
    from: message.original.from,
    to: message.to.map(showMailbox),
    cc: message.cc.length > 0 ? message.cc.map(showMailbox) : undefined,
    bcc: message.bcc.length > 0 ? message.bcc.map(showMailbox) : undefined,
    reply_to: message.original.replyTo,
    subject: message.subject,
    headers: message.headers,
    attachments: message.raw
      ? attachmentsOf(message.raw)
      : message.attachments.map((file) => ({
          filename: file.filename,
          content_type: attachmentType(file),
          content_id: file.contentId,
          size_bytes: file.content.length,
        })),
    metadata: message.metadata,
    tag: message.tag,
    retry_of: message.retryOf && publicId('msg', message.retryOf),
    auto_text: message.autoText,
    raw: message.raw && true,
    ...bodies,
  }
}
