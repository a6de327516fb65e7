import type { SendResponse } from '../../gen/verdict/v1/emails_pb.ts'
import { DeliveryStatus, type RecipientOutcome, SmtpPhase } from '../../gen/verdict/v1/outcomes_pb.ts'
import { reasonNames, statusNames } from '../db/outcome-names.ts'
import { OutcomeUnknown, reasonOf } from '../errors.ts'
import type { Message } from '../sending/message.ts'
import { isSimulated } from '../sending/outcome.ts'
import type { Send } from '../sending/send.ts'
import { PHASES } from './metrics/sends.ts'
import type { Metrics } from './metrics.ts'

type Outcome = Pick<RecipientOutcome, 'email' | 'status' | 'reason' | 'inDoubt' | 'smtp'>

interface Options {
  metrics: Metrics
  /** Recipient domains with metrics of their own, in lower case. */
  domains: readonly string[]
}

/** Counts what a send answers. The evidence of its recipients has the time of each phase. */
export function countSends(send: Send, { metrics, domains }: Options): Send {
  const ownDomains = new Set(domains)
  let inFlight = 0
  metrics.sendsInFlight.read(() => [[{}, inFlight]])

  return async (message, options) => {
    const startedMs = performance.now()
    inFlight++
    try {
      const response = await send(message, options)
      metrics.sends.add(response ? ANSWERED : KEY_TAKEN)
      if (response) countAnswer(outcomesOf(message, response), options.sandbox, startedMs)
      return response
    } catch (error) {
      metrics.sends.add({ result: resultOf(error, options.signal) })
      throw error
    } finally {
      inFlight--
    }
  }

  function countAnswer(outcomes: Outcome[], sandbox: boolean, startedMs: number): void {
    const mode = sandbox ? 'sandbox' : outcomes.every(({ email }) => isSimulated(email)) ? 'simulator' : 'live'
    metrics.sendSeconds.observe({ mode }, (performance.now() - startedMs) / 1_000)
    for (const outcome of outcomes) {
      countRecipient(outcome, mode === 'live' && isSimulated(outcome.email) ? 'simulator' : mode)
    }
  }

  function countRecipient(recipient: Outcome, mode: string): void {
    const status = statusNames.name(recipient.status)
    const reason = recipient.reason === undefined ? 'none' : reasonNames.name(recipient.reason)
    metrics.recipients.add({ mode, status, reason })
    if (recipient.inDoubt) metrics.inDoubt.add({ mode })
    if (mode !== 'live') return
    if (ownDomains.size > 0) {
      const domain = recipient.email.slice(recipient.email.lastIndexOf('@') + 1).toLowerCase()
      if (ownDomains.has(domain)) metrics.recipientsByDomain.add({ domain, status, reason })
    }
    countConversation(recipient)
  }

  function countConversation({ smtp, status }: Outcome): void {
    if (!smtp || status === DeliveryStatus.REJECTED) return
    for (const phase of PHASES) {
      const ms = smtp.timings?.[phase]
      if (ms !== undefined) metrics.phaseSeconds.observe({ phase }, ms / 1_000)
    }
    if (smtp.phase === SmtpPhase.DNS) return
    const tls = smtp.tls ? (smtp.tls.verified ? 'verified' : 'unverified') : 'none'
    metrics.smtpAttempts.add({ connection: smtp.reused ? 'reused' : 'new', tls })
  }
}

/** The response to a message with one recipient is that recipient's outcome. */
function outcomesOf({ recipients: [first] }: Message, { recipients, status, reason, inDoubt, smtp }: SendResponse) {
  return recipients.length > 0 ? recipients : [{ email: first!.address.address, status, reason, inDoubt, smtp }]
}

const ANSWERED = { result: 'answered' }
const KEY_TAKEN = { result: 'key_taken' }

function resultOf(error: unknown, signal: AbortSignal): string {
  if (error instanceof OutcomeUnknown) return 'outcome_unknown'
  return signal.aborted ? 'client_left' : (reasonOf(error) ?? 'unexpected')
}
