import { create, toJson } from '@bufbuild/protobuf'
import { CheckSchema, type SendResponse } from '../../gen/verdict/v1/emails_pb.ts'
import { Reason, type RecipientOutcome } from '../../gen/verdict/v1/outcomes_pb.ts'
import type { Database } from '../db/connect.ts'
import type { Claim } from '../ledger/claim.ts'
import type { FirstAttempts } from '../ledger/first-attempts-offer.ts'
import type { Message } from './message.ts'
import { rejected } from './outcome.ts'
import { type DryRunCheck, sendResponse } from './send-response.ts'
import { createSettleUntilStored } from './until-stored.ts'

/** How the checks decided a send that ends without SMTP. */
export interface Decision {
  outcomes: RecipientOutcome[]
  checks: DryRunCheck[]
}

/** A message that was read has passed this check. */
export const PAYLOAD_IS_VALID: DryRunCheck = { name: 'payload', passed: true }

const checkJson = (check: DryRunCheck) => toJson(CheckSchema, create(CheckSchema, check)) as object

/**
 * Stores a send that ends without SMTP and returns its response, undefined when its key belongs to another send,
 * `retried` when another send has retried a recipient. Only a dry run stores and shows its checks.
 */
export function createEndWithoutSmtp(
  db: Database,
  firstAttempts: FirstAttempts,
): (claim: Claim, decision: Decision, sandbox: boolean) => Promise<SendResponse | 'retried' | undefined> {
  const settle = createSettleUntilStored(db, firstAttempts)
  return async (claim, { outcomes, checks }, sandbox) => {
    const result = await settle(claim, { outcomes, sandbox, checks: sandbox ? checks.map(checkJson) : undefined })
    if (result === 'retried') return result
    return result === 'claimed' ? sendResponse(claim, outcomes, sandbox ? checks : undefined) : undefined
  }
}

/**
 * The decision in a batch, where a domain that is not the account's rejects the message instead of failing the request.
 */
export function rejectedForDomain({ recipients, from: { domain } }: Message): Decision {
  const outcomes = recipients.map((recipient) => rejected(recipient, Reason.DOMAIN_NOT_VERIFIED))
  const detail = `${domain} is not a domain of this account. Add it with POST /api/v1/domains, or send from another`
  return { outcomes, checks: [PAYLOAD_IS_VALID, { name: 'domain', passed: false, detail }] }
}
