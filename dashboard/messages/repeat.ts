import type { MessageInitShape } from '@bufbuild/protobuf'
import type { GetEmailResponse, SendRequestSchema } from '../../gen/verdict/v1/emails_pb.ts'
import { DeliveryStatus, type RecipientOutcome } from '../../gen/verdict/v1/outcomes_pb.ts'
import { msOf } from '../time/ms-of.ts'
import { CHAIN_MS, isMailboxOf, mailboxesOf } from './send-command.ts'

// Sending a stored message again, from the dashboard: what is possible, and to whom.

/** Why a message cannot be sent again from what is stored; undefined when it can. */
export function repeatFault({ raw, attachments, html, text }: GetEmailResponse): string | undefined {
  if (raw) return 'Your software built this message, and it is not stored.'
  if (attachments.length > 0) return 'The content of its attachments is not stored.'
  if (html === undefined && text === undefined) return 'Its content is not stored.'
  return undefined
}

/** The recipients that may get it again, and those who may have it already. Those who have it are neither. */
export function candidatesOf({ recipients }: GetEmailResponse): Record<'open' | 'doubtful', RecipientOutcome[]> {
  return {
    open: recipients.filter(({ status, inDoubt }) => status !== DeliveryStatus.DELIVERED && !inDoubt),
    doubtful: recipients.filter(({ inDoubt }) => inDoubt),
  }
}

export interface Repeat {
  request: MessageInitShape<typeof SendRequestSchema>
  /** All of the chosen can be retried; otherwise it is a new message. */
  isRetry: boolean
}

/**
 * The message to the chosen recipients. Bcc recipients alone may be one only: a message needs `to`, which all its
 * recipients see.
 */
export function repeatOf(
  email: GetEmailResponse,
  chosen: readonly string[],
  nowMs = Date.now(),
): Repeat | { fault: string } {
  const isChosen = (mailbox: string) => chosen.some((address) => isMailboxOf(mailbox, address))
  const [to, cc, bcc] = [email.to.filter(isChosen), email.cc.filter(isChosen), email.bcc.filter(isChosen)]
  if (to.length + cc.length === 0 && bcc.length > 1)
    return { fault: 'Choose one: each bcc recipient needs a message of its own.' }
  const first = [to, cc, bcc].find(({ length }) => length > 0)
  if (!first) return { fault: 'Choose who gets it.' }
  const outcomes = email.recipients.filter((recipient) => chosen.includes(recipient.email))
  const isOver = nowMs - msOf(email.createdAt) > CHAIN_MS
  const isRetry = !isOver && outcomes.every(({ retryable }) => retryable)
  const { from, subject, headers, tenantId, metadata, tag, html, text, autoText, replyTo } = email
  return {
    request: {
      from,
      to: first,
      cc: first === to ? cc : [],
      bcc: first === bcc ? [] : bcc,
      replyTo: replyTo ? mailboxesOf(replyTo) : [],
      subject,
      headers,
      tenantId,
      metadata,
      tag,
      html,
      text,
      autoText: text === undefined ? autoText : undefined,
      retryOf: isRetry ? email.messageId : undefined,
    },
    isRetry,
  }
}
