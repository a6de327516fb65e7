import { create, type MessageInitShape, toJson } from '@bufbuild/protobuf'
import {
  DeliveryStatus,
  Reason,
  type RecipientOutcome,
  RecipientOutcomeSchema,
  SmtpEvidenceSchema,
  SmtpPhase,
  SuppressionSchema,
} from '../../gen/verdict/v1/outcomes_pb.ts'
import { lowerAscii } from '../../mail/address.ts'
import type { Kind, SmtpAttempt, Timings } from '../../mail/smtp/attempt.ts'
import { readAs } from '../../mail/smtp/rules.ts'
import { decidedByNames, kindNames, phaseNames, reasonNames, statusNames } from '../db/outcome-names.ts'
import { type EndingRow, OUR_FAULT, type OutcomeRow } from '../ledger/rows.ts'
import { bounceEntry } from '../reputation/evidence.ts'
import { kindOfReading } from '../reputation/incidents.ts'
import { mailboxProvider } from '../reputation/mailbox-provider.ts'
import { isSimulated } from '../reputation/simulated.ts'
import type { AddressStanding } from '../reputation/standings.ts'
import type { Recipient } from './recipients.ts'

type Evidence = MessageInitShape<typeof SmtpEvidenceSchema>

/** The outcome of a recipient without its status. */
const named = ({ address, kind }: Recipient) => ({ email: address.address, kind: kindNames.value(kind) })

export function rejected(recipient: Recipient, reason: Reason): RecipientOutcome {
  return create(RecipientOutcomeSchema, { ...named(recipient), status: DeliveryStatus.REJECTED, reason })
}

/** Nothing was delivered, and a later attempt may succeed. An outcome in doubt is never retryable. */
const RETRYABLE: readonly (Reason | undefined)[] = [Reason.TEMPORARY_FAILURE, Reason.CONNECTION_TIMEOUT]

export function bounced(recipient: Recipient, reason: Reason, smtp?: Evidence): RecipientOutcome {
  const retryable = RETRYABLE.includes(reason) ? true : undefined
  return create(RecipientOutcomeSchema, {
    ...named(recipient),
    status: DeliveryStatus.BOUNCED,
    reason,
    smtp,
    retryable,
  })
}

export function delivered(recipient: Recipient, smtp?: Evidence): RecipientOutcome {
  return create(RecipientOutcomeSchema, { ...named(recipient), status: DeliveryStatus.DELIVERED, smtp })
}

/** It is unknown whether the message arrived: shown as `connection_timeout` with `in_doubt`. */
export function inDoubt(recipient: Recipient, smtp?: Evidence): RecipientOutcome {
  const outcome = bounced(recipient, Reason.CONNECTION_TIMEOUT, smtp)
  outcome.inDoubt = true
  outcome.retryable = undefined
  return outcome
}

/**
 * The outcome of one attempt of the engine, once a server has decided on one recipient of the message.
 * @param dnsMs how long the look-up of the recipient's exchangers took
 */
export function outcomeOfAttempt(recipient: Recipient, attempt: SmtpAttempt, dnsMs?: number): RecipientOutcome {
  const smtp = evidenceOf(attempt, dnsMs)
  switch (attempt.outcome.kind) {
    case 'delivered':
      return delivered(recipient, smtp)
    case 'bounced':
      return bounced(recipient, reasonNames.value(attempt.outcome.reason), smtp)
    case 'in_doubt':
      return inDoubt(recipient, smtp)
    case 'our_fault':
      return notTried(recipient, attempt.outcome.cause)
  }
}

/** No server is named, so that no statistics of a provider count what was not the provider's. */
function notTried(recipient: Recipient, cause: string): RecipientOutcome {
  const outcome = bounced(recipient, Reason.TEMPORARY_FAILURE)
  outcome.detail = OUR_FAULT + cause
  return outcome
}

/** The outcome that a simulator address stands for, in a dry run. */
export function simulatedOutcome(recipient: Recipient, outcome: { status: string; reason?: string }): RecipientOutcome {
  const reason = outcome.reason === undefined ? undefined : reasonNames.value(outcome.reason)
  return create(RecipientOutcomeSchema, {
    ...named(recipient),
    status: statusNames.value(outcome.status),
    reason,
    retryable: RETRYABLE.includes(reason) ? true : undefined,
  })
}

function evidenceOf(attempt: SmtpAttempt, dns?: number): Evidence {
  return {
    mx: attempt.mx,
    ip: attempt.ip,
    code: attempt.reply?.code,
    enhanced: attempt.reply?.enhanced,
    reply: attempt.reply?.text,
    phase: phaseNames.value(attempt.phase),
    tls: attempt.tls ?? undefined,
    durationMs: Math.max(0, Math.round(attempt.durationMs)),
    readAs: attempt.reading && readAs(attempt.reading),
    decidedBy: attempt.reading?.decidedBy && decidedByNames.value(attempt.reading.decidedBy),
    words: attempt.reading?.words,
    detail: attempt.detail,
    timings: inTenths({ dns, ...attempt.timings }),
    reused: attempt.reused,
    transaction: attempt.transaction,
    tried: attempt.tried?.map((host) => ({ ...host, phase: phaseNames.value(host.phase) })),
  }
}

/** Milliseconds to a tenth: more would be noise. */
export function inTenths(timings: Timings): Timings {
  const entries = Object.entries(timings).filter(([, ms]) => ms !== undefined)
  return Object.fromEntries(entries.map(([phase, ms]) => [phase, Math.round(ms * 10) / 10]))
}

/**
 * The outcome without text from outside: what is left of its evidence when the database refuses that text. The status,
 * the reason, the code and the phase stay.
 */
export function withoutText(outcome: RecipientOutcome): RecipientOutcome {
  if (!outcome.smtp) return outcome
  const { ip, code, phase, tls, durationMs, timings, reused, readAs, decidedBy, transaction } = outcome.smtp
  const detail = 'the text of the reply could not be stored'
  const tried = outcome.smtp.tried.map(({ ip, phase }) => ({ ip, phase, detail }))
  const numbers = { ip, code, phase, tls, durationMs, timings, reused, readAs, decidedBy, transaction }
  return { ...outcome, smtp: create(SmtpEvidenceSchema, { ...numbers, detail, tried }) }
}

const WORST_FIRST = [DeliveryStatus.BOUNCED, DeliveryStatus.REJECTED, DeliveryStatus.DELIVERED]

/** A message's status: the worst among its recipients, with the reason of the first recipient that has it. */
export function summarise(outcomes: RecipientOutcome[]): { status: DeliveryStatus; reason?: Reason; inDoubt?: true } {
  const status = WORST_FIRST.find((status) => outcomes.some((outcome) => outcome.status === status))!
  const reason = outcomes.find((outcome) => outcome.status === status)?.reason
  return { status, reason, inDoubt: outcomes.some((outcome) => outcome.inDoubt) ? true : undefined }
}

/** What an outcome says against its address. The simulator's addresses and outcomes in doubt say nothing. */
function refusalOf({ email, status, reason, smtp, inDoubt }: RecipientOutcome): Kind | undefined {
  if (status !== DeliveryStatus.BOUNCED || inDoubt || isSimulated(email)) return undefined
  return kindOfReading(reasonNames.name(reason!), smtp?.readAs)
}

/** The addresses that were refused, in their matching form, with their kinds and the providers that refused them. */
export function refusedAddresses(outcomes: readonly RecipientOutcome[]) {
  const kinds = new Map<string, Kind>()
  const providers = new Map<string, string>()
  for (const outcome of outcomes) {
    const kind = refusalOf(outcome)
    if (!kind) continue
    kinds.set(lowerAscii(outcome.email), kind)
    providers.set(lowerAscii(outcome.email), providerOf(outcome))
  }
  return { kinds, providers }
}

const providerOf = ({ smtp }: RecipientOutcome) => mailboxProvider(smtp?.mx ?? smtp?.tried.find(({ mx }) => mx)?.mx)

/** One recipient's outcome as its row in history, with what it does to its address. */
function outcomeRow(outcome: RecipientOutcome, position: number, standings?: Standings): OutcomeRow {
  const refusal = refusalOf(outcome)
  const address = lowerAscii(outcome.email)
  const standing = standings?.get(address)
  return {
    position,
    status: statusNames.name(outcome.status),
    reason: outcome.reason ? reasonNames.name(outcome.reason) : undefined,
    retryable: outcome.retryable ?? false,
    in_doubt: outcome.inDoubt ?? false,
    smtp: outcome.smtp && toJson(SmtpEvidenceSchema, outcome.smtp),
    // That of a rejection comes from stored data.
    detail: outcome.status === DeliveryStatus.BOUNCED ? outcome.detail : undefined,
    suppression: outcome.suppression && toJson(SuppressionSchema, outcome.suppression),
    provider: providerOf(outcome),
    refusal,
    proof_of_life: standing?.lastDeliveredMs !== undefined,
    address,
    entry: refusal && standing && bounceEntry(standing, outcome.smtp!),
  }
}

/** What was built of a message for its recipients' servers. */
export interface SentContent {
  sizeBytes: number
  /** SHA-256 of its octets, in hex. */
  digest: string
}

/** Whether the whole message went out to the recipient's server: the final dot was sent. */
const wentOut = ({ smtp }: RecipientOutcome) => smtp?.phase === SmtpPhase.DOT || smtp?.phase === SmtpPhase.AFTER_DOT

type Standings = ReadonlyMap<string, AddressStanding>

/**
 * The outcomes of a whole message, as the row that ends it, with the entries that are due. Without content, nothing was
 * built.
 *
 * @param standings what is known of the refused addresses
 */
export function endingRow(outcomes: RecipientOutcome[], content?: SentContent, standings?: Standings): EndingRow {
  const { status, reason } = summarise(outcomes)
  return {
    status: statusNames.name(status),
    reason: reason ? reasonNames.name(reason) : undefined,
    size_bytes: content?.sizeBytes ?? 0,
    digest: outcomes.some(wentOut) ? content?.digest : undefined,
    outcomes: outcomes.map((outcome, position) => outcomeRow(outcome, position, standings)),
  }
}
