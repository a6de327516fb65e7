import type { RecipientOutcome } from '../../gen/verdict/v1/outcomes_pb.ts'
import type { Delivery, Engine } from '../../mail/smtp/attempt.ts'
import { refusalOf } from '../db/database-health.ts'
import { reasonNames, statusNames } from '../db/outcome-names.ts'
import type { Trace } from '../telemetry/tracing.ts'
import type { CheckedRecipient } from './checks.ts'
import { outcomeOfAttempt } from './outcome.ts'

export interface DeliveryResult {
  /** One for each recipient, including those that the checks had decided. */
  outcomes: RecipientOutcome[]
  /** A fault of our own kept us from sending to any recipient, as text. */
  fault?: string
  /** The fault was that a marker could not be stored: another try may store it. */
  isWithoutLeave?: boolean
}

/** Created once: an error for each send would cost a hundredth of it. */
const OVER = new Error('the delivery is over')

type DeliveryParts = Omit<Delivery, 'ownMs' | 'lookUpMs' | 'recipients' | 'senderFor' | 'beforeDot' | 'onPhase'> & {
  /** The envelope sender for the recipients of a domain; `position` is that of the first of them. */
  returnPath(position: number): string
}

/**
 * The SMTP step of a send: one attempt at all recipients that are still undecided. `mark` is called with positions
 * among all recipients: those that are marked, and those whose marker is taken back because their dot was refused. The
 * phases of the conversation become spans of `trace`.
 */
export async function deliver(
  engine: Engine,
  recipients: CheckedRecipient[],
  mark: (positions: number[], takenBack: number[], signal: AbortSignal) => Promise<boolean>,
  { returnPath, ...delivery }: DeliveryParts,
  trace?: Trace,
): Promise<DeliveryResult> {
  let [isRefused, isWithoutLeave] = [false, false]
  const undecided = recipients.flatMap(({ outcome, address: { address }, site }, position) => {
    if (outcome) return []
    if (!site) throw new Error('a recipient has neither an outcome nor a site')
    return [{ position, address, site }]
  })
  const toAll = (i: number) => undecided[i]!.position
  const over = new AbortController()
  const lookUpMs = Math.max(0, ...recipients.map(({ dnsMs = 0 }) => dnsMs))
  const delivering = engine.deliver({
    ...delivery,
    ownMs: performance.now() - delivery.startedAtMs - lookUpMs,
    lookUpMs,
    recipients: undecided,
    senderFor: (domain) => returnPath(recipients.findIndex(({ address }) => address.domain === domain)),
    beforeDot: async (accepted, refused) => {
      try {
        return await mark(accepted.map(toAll), refused.map(toAll), over.signal)
      } catch (error) {
        isRefused ||= refusalOf(error) !== undefined
        isWithoutLeave = true
        throw error
      }
    },
    onPhase:
      trace && ((phase, host, fromMs, toMs) => trace.add(`smtp ${phase}`, fromMs, toMs, { 'server.address': host })),
  })
  // A marker that still waits would say that a dot was sent.
  const attempts = await delivering.finally(() => over.abort(OVER))
  const attemptAt = (at: number) => attempts[undecided.findIndex(({ position }) => position === at)]!
  const outcomes = recipients.map(
    (recipient, i) => recipient.outcome ?? outcomeOfAttempt(recipient, attemptAt(i), recipient.dnsMs),
  )
  trace?.set({ 'verdict.outcomes': [...new Set(outcomes.map(outcomeName))] })
  const faults = attempts.flatMap(({ outcome }) => (outcome.kind === 'our_fault' ? [outcome.cause] : []))
  if (faults.length < attempts.length) return { outcomes }
  if (isRefused) return { outcomes, fault: 'The database takes no writes' }
  return { outcomes, fault: faults[0], isWithoutLeave }
}

/** `delivered`, `bounced/mailbox_full`. */
function outcomeName({ status, reason }: RecipientOutcome): string {
  return [statusNames.name(status), reason && reasonNames.name(reason)].filter((name) => name).join('/')
}
