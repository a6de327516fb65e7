import { create, toJson } from '@bufbuild/protobuf'
import { CheckSchema, type SendResponse } from '../../gen/verdict/v1/emails_pb.ts'
import { Reason, type RecipientOutcome } from '../../gen/verdict/v1/outcomes_pb.ts'
import type { Database } from '../db/connect.ts'
import type { FirstAttempts } from '../events/dispatches.ts'
import { answer, type DryRunCheck } from './answer.ts'
import type { Claim } from './claim.ts'
import type { Message } from './message.ts'
import { rejected } from './outcome.ts'
import { settleStep } from './record.ts'

/** What the checks say of a send that ends without SMTP. */
export interface Decided {
  outcomes: RecipientOutcome[]
  checks: DryRunCheck[]
}

/** What is read as a message has passed it. */
export const PAYLOAD_IS_GOOD: DryRunCheck = { name: 'payload', passed: true }

const checkJson = (check: DryRunCheck) => toJson(CheckSchema, create(CheckSchema, check)) as object

/** Stores such a send and gives its answer, undefined when its key is another send's. Only a dry run tells its checks. */
export function endWithoutSmtp(
  db: Database,
  firstAttempts: FirstAttempts,
): (claim: Claim, decided: Decided, sandbox: boolean) => Promise<SendResponse | undefined> {
  const settle = settleStep(db, firstAttempts)
  return async (claim, { outcomes, checks }, sandbox) => {
    const settled = await settle(claim, { outcomes, sandbox, checks: sandbox ? checks.map(checkJson) : undefined })
    return settled === 'claimed' ? answer(claim.messageId, outcomes, sandbox ? checks : undefined) : undefined
  }
}

/** In a batch, where no message is an error that can be an answer. */
export function rejectedForDomain({ to, from: { domain } }: Message): Decided {
  const outcomes = to.map(({ address }) => rejected(address, Reason.DOMAIN_NOT_VERIFIED))
  const detail = `${domain} is not a domain of this account. Add and verify it, or send from another`
  return { outcomes, checks: [PAYLOAD_IS_GOOD, { name: 'domain', passed: false, detail }] }
}
