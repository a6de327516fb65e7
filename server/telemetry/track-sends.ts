import type { SendResponse } from '../../gen/verdict/v1/emails_pb.ts'
import { DeliveryStatus, type RecipientOutcome, SmtpPhase } from '../../gen/verdict/v1/outcomes_pb.ts'
import { TIMES } from '../../mail/smtp/attempt.ts'
import { providerOf } from '../../mail/smtp/shaping.ts'
import { inFlight } from '../db/collector.ts'
import type { Database } from '../db/connect.ts'
import { reasonNames, statusNames } from '../db/outcome-names.ts'
import { OutcomeUnknown, reasonOf } from '../errors.ts'
import { isSimulated } from '../reputation/simulated.ts'
import type { Message } from '../sending/message.ts'
import type { Send, SendOptions } from '../sending/send.ts'
import type { Metrics } from './metrics.ts'

type Outcome = Pick<RecipientOutcome, 'email' | 'status' | 'reason' | 'inDoubt' | 'smtp'>

export interface TrackedSends {
  send: Send
  /** Resolves when no send is running. A send goes on after its marker even when its caller leaves. */
  idle(): Promise<void>
}

/**
 * Tracks the sends that run: for the shared statements (`load`), for the metrics, and so that a shutdown waits for all
 * of them. The evidence of the recipients has the time of each phase.
 */
export function trackSends(send: Send, { load, metrics }: { load: Database['load']; metrics: Metrics }): TrackedSends {
  const running = new Set<Promise<unknown>>()
  metrics.sendsInFlight.read(() => [[{}, running.size]])

  async function countedSend(message: Message, options: SendOptions): Promise<SendResponse | undefined> {
    const startedMs = performance.now()
    try {
      const response = await inFlight(load, () => send(message, options))
      metrics.sends.add(response ? ANSWERED : KEY_TAKEN)
      if (response) countAnswer(metrics, outcomesOf(message, response), options.sandbox, startedMs)
      return response
    } catch (error) {
      metrics.sends.add({ result: resultOf(error, options.signal) })
      throw error
    }
  }

  return {
    send(message, options) {
      const response = countedSend(message, options)
      running.add(response)
      const remove = () => void running.delete(response)
      response.then(remove, remove)
      return response
    },
    async idle() {
      while (running.size > 0) await Promise.allSettled(running)
    },
  }
}

function countAnswer(metrics: Metrics, outcomes: Outcome[], sandbox: boolean, startedMs: number): void {
  const mode = sandbox ? 'sandbox' : outcomes.every(({ email }) => isSimulated(email)) ? 'simulator' : 'live'
  metrics.sendSeconds.observe({ mode }, (performance.now() - startedMs) / 1_000)
  for (const outcome of outcomes) {
    countRecipient(metrics, outcome, mode === 'live' && isSimulated(outcome.email) ? 'simulator' : mode)
  }
}

function countRecipient(metrics: Metrics, recipient: Outcome, mode: string): void {
  const status = statusNames.name(recipient.status)
  const reason = recipient.reason === undefined ? 'none' : reasonNames.name(recipient.reason)
  metrics.recipients.add({ mode, status, reason })
  if (recipient.inDoubt) metrics.inDoubt.add({ mode })
  if (mode === 'live') countConversation(metrics, recipient)
}

function countConversation(metrics: Metrics, { smtp, status }: Outcome): void {
  if (!smtp || status === DeliveryStatus.REJECTED) return
  for (const phase of TIMES) {
    const ms = smtp.timings?.[phase]
    if (ms !== undefined) metrics.phaseSeconds.observe({ phase }, ms / 1_000)
  }
  if (smtp.phase === SmtpPhase.DNS) return
  if (smtp.code !== undefined) {
    const result = smtp.readAs?.startsWith('sender (') ? 'sender_refused' : 'other'
    metrics.providerRecipients.add({ provider: providerOf(smtp.mx ?? '') ?? 'other', result })
  }
  const tls = smtp.tls ? (smtp.tls.verified ? 'verified' : 'unverified') : 'none'
  metrics.smtpAttempts.add({ connection: smtp.reused ? 'reused' : 'new', tls })
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
