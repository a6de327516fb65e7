import { create, type MessageInitShape, toJson } from '@bufbuild/protobuf'
import {
  DeliveryStatus,
  DeliveryStatusSchema,
  Reason,
  ReasonSchema,
  type RecipientOutcome,
  RecipientOutcomeSchema,
  SmtpEvidenceSchema,
  type SmtpPhase,
  SmtpPhaseSchema,
  SuppressionSchema,
} from '../../gen/verdict/v1/outcomes_pb.ts'
import { enumNames } from '../enum-names.ts'
import type { EndingRow, OutcomeRow } from '../history/rows.ts'
import { type Strike, strikeOfBounce } from '../reputation/strikes.ts'
import type { SmtpAttempt } from '../smtp/attempt.ts'
import { saysUserUnknown } from '../smtp/rules.ts'

export const statusNames = enumNames<DeliveryStatus>(DeliveryStatusSchema)
export const reasonNames = enumNames<Reason>(ReasonSchema)
const phaseNames = enumNames<SmtpPhase>(SmtpPhaseSchema)

type Evidence = MessageInitShape<typeof SmtpEvidenceSchema>

export function rejected(email: string, reason: Reason): RecipientOutcome {
  return create(RecipientOutcomeSchema, { email, status: DeliveryStatus.REJECTED, reason })
}

export function bounced(email: string, reason: Reason, smtp?: Evidence): RecipientOutcome {
  const retryable = reason === Reason.TEMPORARY_FAILURE ? true : undefined
  return create(RecipientOutcomeSchema, { email, status: DeliveryStatus.BOUNCED, reason, smtp, retryable })
}

export function delivered(email: string, smtp?: Evidence): RecipientOutcome {
  return create(RecipientOutcomeSchema, { email, status: DeliveryStatus.DELIVERED, smtp })
}

/** It is unknown whether the message arrived: shown as `connection_timeout` with `in_doubt`. */
export function inDoubt(email: string, smtp?: Evidence): RecipientOutcome {
  const outcome = bounced(email, Reason.CONNECTION_TIMEOUT, smtp)
  outcome.inDoubt = true
  return outcome
}

/**
 * The outcome of one attempt of the engine, once the message has a marker or none of its attempts failed by our fault.
 */
export function outcomeOf(email: string, attempt: SmtpAttempt): RecipientOutcome {
  const smtp = evidenceOf(attempt)
  switch (attempt.outcome.kind) {
    case 'delivered':
      return delivered(email, smtp)
    case 'bounced':
      return bounced(email, reasonNames.value(attempt.outcome.reason), smtp)
    case 'in_doubt':
      return inDoubt(email, smtp)
    case 'our_fault':
      return bounced(email, Reason.TEMPORARY_FAILURE, smtp)
  }
}

/** The outcome that a simulator address stands for, in a dry run. */
export function simulatedOutcome(email: string, outcome: { status: string; reason?: string }): RecipientOutcome {
  return create(RecipientOutcomeSchema, {
    email,
    status: statusNames.value(outcome.status),
    reason: outcome.reason === undefined ? undefined : reasonNames.value(outcome.reason),
    retryable: outcome.reason === 'temporary_failure' ? true : undefined,
  })
}

function evidenceOf(attempt: SmtpAttempt): Evidence {
  return {
    mx: attempt.mx,
    ip: attempt.ip,
    code: attempt.reply?.code,
    enhanced: attempt.reply?.enhanced,
    reply: attempt.reply?.text,
    phase: phaseNames.value(attempt.phase),
    tls: attempt.tls ?? undefined,
    durationMs: Math.max(0, Math.round(attempt.durationMs)),
    detail: attempt.detail,
  }
}

/**
 * The outcome without text from outside: what is left of its evidence when the database refuses that text. The status,
 * the reason, the code and the phase stay.
 */
export function withoutText(outcome: RecipientOutcome): RecipientOutcome {
  if (!outcome.smtp) return outcome
  const { ip, code, phase, tls, durationMs } = outcome.smtp
  const detail = 'the text of the reply could not be stored'
  const smtp = create(SmtpEvidenceSchema, { ip, code, phase, tls, durationMs, detail })
  return { ...outcome, smtp }
}

const WORST_FIRST = [DeliveryStatus.BOUNCED, DeliveryStatus.REJECTED, DeliveryStatus.DELIVERED]

/** A message's status: the worst among its recipients, with the reason of the first recipient that has it. */
export function summarise(outcomes: RecipientOutcome[]): { status: DeliveryStatus; reason?: Reason; inDoubt?: true } {
  const status = WORST_FIRST.find((status) => outcomes.some((outcome) => outcome.status === status))!
  const reason = outcomes.find((outcome) => outcome.status === status)?.reason
  return { status, reason, inDoubt: outcomes.some((outcome) => outcome.inDoubt) ? true : undefined }
}

/** Whether the address is one of the simulator's. Each of them stands for an outcome. */
export const isSimulated = (email: string) => email.endsWith('@simulator.test')

/** The strike of an outcome against its address. The simulator's addresses and outcomes in doubt have none. */
function strikeOf({ email, status, reason, smtp, inDoubt }: RecipientOutcome): Strike | null {
  if (status !== DeliveryStatus.BOUNCED || !reason || inDoubt || isSimulated(email)) return null
  const { enhanced, reply = '' } = smtp ?? {}
  return strikeOfBounce(reasonNames.name(reason), { enhanced, saysUserUnknown: saysUserUnknown(reply) })
}

/** One recipient's outcome as its row in history, with its strike against the address. */
export function outcomeRow(outcome: RecipientOutcome, position: number): OutcomeRow {
  return {
    position,
    status: statusNames.name(outcome.status),
    reason: outcome.reason === undefined ? null : reasonNames.name(outcome.reason),
    retryable: outcome.retryable ?? false,
    in_doubt: outcome.inDoubt ?? false,
    smtp: outcome.smtp ? toJson(SmtpEvidenceSchema, outcome.smtp) : null,
    suppression: outcome.suppression ? toJson(SuppressionSchema, outcome.suppression) : null,
    strike: strikeOf(outcome),
    strike_email: outcome.email.toLowerCase(),
  }
}

/** The outcomes of a whole message, as the row that ends it. */
export function endingRow(outcomes: RecipientOutcome[], sizeBytes: number): EndingRow {
  const { status, reason } = summarise(outcomes)
  return {
    status: statusNames.name(status),
    reason: reason === undefined ? null : reasonNames.name(reason),
    size_bytes: sizeBytes,
    digest: null,
    outcomes: outcomes.map(outcomeRow),
  }
}
