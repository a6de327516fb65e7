import { create } from '@bufbuild/protobuf'
import type { SendResponse } from '../../gen/verdict/v1/emails_pb.ts'
import { type RecipientOutcome, RecipientOutcomeSchema } from '../../gen/verdict/v1/outcomes_pb.ts'
import type { Address } from '../../mail/address.ts'
import { replyToError } from './errors.ts'

/** What became of a recipient, now or when the message came before. */
export interface RecipientAnswer {
  email: string
  /** The public id of the message that has the outcome. */
  messageId: string
  outcome: RecipientOutcome
  sandbox: boolean
  /** The same content came before, in another message. */
  isRepeated?: boolean
  /** The first message with the same idempotency key had other content. */
  hadOtherContent?: boolean
}

/** A recipient whose send was refused, while other recipients of the message may have their answers. */
export interface RefusedRecipient {
  email: string
  error: unknown
}

export type RecipientResult = RecipientAnswer | RefusedRecipient

export const mayBeTriedAgain = (result: RecipientResult) =>
  'error' in result ? replyToError(result.error).code < 500 : !result.sandbox && result.outcome.retryable

export function resultsOf(response: SendResponse, addresses: Address[], sandbox: boolean): RecipientAnswer[] {
  const { messageId, recipients } = response
  if (recipients.length > 0) {
    return recipients.map((outcome) => ({ email: outcome.email, messageId, outcome, sandbox }))
  }
  const { status, reason, retryable, inDoubt, smtp, suppression, detail } = response
  const only = create(RecipientOutcomeSchema, { status, reason, retryable, inDoubt, smtp, suppression, detail })
  return addresses.slice(0, 1).map(({ address }) => ({ email: address, messageId, outcome: only, sandbox }))
}
