import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { showMailbox } from '../../mail/address.ts'
import { attachmentType, buildMessage } from '../../mail/mime/builder.ts'
import { signMessage } from '../../mail/mime/dkim.ts'
import { completeRaw } from '../../mail/mime/raw/read-raw.ts'
import { createPauseQueue } from '../async/pause-queue.ts'
import { publicId } from '../db/ids.ts'
import type { StoredRequest } from '../db/json-columns.ts'
import type { SenderDomain } from '../domains/sender.ts'
import type { Claim } from '../ledger/claim.ts'
import type { Message } from './message.ts'
import type { SentContent } from './outcome.ts'
import { attachmentsOf, bodiesOf } from './raw.ts'

export interface ComposedMessage extends SentContent {
  /** The signed message in pieces, as sent but without dot-stuffing. */
  pieces: Buffer[]
}

/** Messages of more characters and bytes take turns: building one takes about 5 ms. */
const LARGE = 256 * 1024

/**
 * Building a large message takes tens of milliseconds. The large messages of a batch become due at the same moment; the
 * event loop serves all other calls between two of them.
 */
const nextTurn = createPauseQueue(() => setImmediate())

/**
 * Builds and signs a message, the step of a send between claim and SMTP. Date and boundaries come from the claim, so
 * its bytes are reproducible. Throws when a key cannot sign.
 */
export async function compose(message: Message, domain: SenderDomain, claim: Claim): Promise<ComposedMessage> {
  if (sizeOf(message) > LARGE) await nextTurn()
  const date = new Date(claim.createdAtMs)
  const messageId = `${publicId('msg', claim.messageId)}@${domain.returnPathHost}`
  const unsigned = message.raw
    ? completeRaw(message.raw, { messageId, date })
    : buildMessage({ messageId, boundarySeed: claim.messageId, date, ...message })
  const signature = await signMessage(unsigned, { domain: domain.name, keys: domain.dkimKeys, date })
  const pieces = [signature, ...unsigned]
  const hash = createHash('sha256')
  for (const piece of pieces) hash.update(piece)
  return { pieces, sizeBytes: pieces.reduce((sum, piece) => sum + piece.length, 0), digest: hash.digest('hex') }
}

function sizeOf({ html = '', text = '', attachments, raw }: Message): number {
  if (raw) return raw.source.length
  return attachments.reduce((sum, { content }) => sum + content.length, html.length + text.length)
}

export function storedRequest(message: Message, storeContent: boolean): StoredRequest {
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
    ...(storeContent ? (message.raw ? bodiesOf(message.raw) : { html: message.html, text: message.text }) : {}),
  }
}
