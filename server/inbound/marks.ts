import type { Parts } from './mime-parts.ts'
import { bareValue } from './report-fields.ts'

/** The local parts that mail systems write from. */
const SYSTEM = /^(?:mailer-?daemon|mail-?daemon|post-?master|mdaemon|mail[-_]?system|microsoftexchange\w{0,64})$/i
const DELAY =
  /\bdelayed\b|\bdelay\b|warning: (?:could not|message)|will be retried|will keep trying|will continue to (?:try|attempt)|still (?:being )?(?:retried|trying)|do not need to (?:resend|do anything)|no action is required|this is a warning message only|not yet been delivered|has not been delivered yet|delivery attempts will continue|verzögert|wird weiter versucht|retardé|retraso|ritard|vertraag|opóźnion|zpožděn|försena|forsink|задерж|遅延|延迟|temporary problem delivering/i
const DONE =
  /success(?:ful|fully)? deliver|delivered successfully|successfully (?:delivered|relayed|sent)|was relayed|has been relayed|has been delivered to|delivery notification.{0,20}success|return receipt|read receipt|was (?:displayed|read)|delivery confirmation|your message was read/i
const CHALLENGE =
  /confirm (?:that )?(?:you|your)|verify (?:that you|your (?:e-?mail|address))|challenge|whitelist your/i

/**
 * The subject up to its colon. Of `Undeliverable: Please confirm your address`, the sender wrote the rest. But
 * `Warning: could not send message` is all of the system.
 */
const ownSubject = ({ header }: Parts) => header('subject').match(/(?:warning:)?[^:]*/i)?.[0] ?? ''

/** A notice of a mail system about a delivery that is not over, or that succeeded. */
export function isNoFailure(parts: Parts, notice: readonly string[]): boolean {
  const subject = ownSubject(parts)
  const beginning = `${subject}\n${notice.join('\n').slice(0, 3_000)}`
  return DELAY.test(beginning) || DONE.test(beginning) || CHALLENGE.test(subject)
}

/**
 * Whether a mail system wrote it. A program or a mailbox that replies by itself says so, or writes from an address of
 * its own: its words are no report, whatever they are about.
 */
export function isFromMailSystem({ header }: Parts): boolean {
  if (header('x-failed-recipients') !== '') return true
  if (/auto-(?:replied|generated)/i.test(header('auto-submitted'))) return false
  const from = header('from').trim()
  return from.endsWith('<>') || SYSTEM.test(bareValue(from).replace(/@.*/s, ''))
}
