import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { type CheckSchema, type SendResponse, SendResponseSchema } from '../../gen/verdict/v1/emails_pb.ts'
import type { RecipientOutcome } from '../../gen/verdict/v1/outcomes_pb.ts'
import { publicId } from '../db/ids.ts'
import { summarise } from './outcome.ts'
import { explain } from './rejection.ts'

export type DryRunCheck = MessageInitShape<typeof CheckSchema>

/**
 * The response of a send, the same whether it has just ended or is read back for a repeat. Only a dry run has `checks`.
 */
export function sendResponse(
  { messageId, domain }: { messageId: string; domain: string },
  outcomes: RecipientOutcome[],
  checks?: DryRunCheck[],
): SendResponse {
  for (const outcome of outcomes) explain(outcome, domain)
  const only = outcomes.length === 1 ? outcomes[0] : undefined
  return create(SendResponseSchema, {
    messageId: publicId('msg', messageId),
    ...summarise(outcomes),
    retryable: only?.retryable,
    smtp: only?.smtp,
    suppression: only?.suppression,
    detail: only?.detail,
    recipients: only ? [] : outcomes,
    sandbox: checks ? true : undefined,
    checks,
  })
}
