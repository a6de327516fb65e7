import type { MxLookup } from '../../mail/smtp/attempt.ts'

/** How the mail server refuses, in its own words. */
export interface SimulatedReply {
  code: number
  text: string
}

/** What the simulator does for a local part. */
export interface Behaviour {
  status: 'delivered' | 'bounced' | 'rejected'
  /** The outcome of the look-up, when no mail server is involved. */
  route?: { kind: 'suppression_list' } | Exclude<MxLookup, { kind: 'site' }>
  /** How the mail server refuses the recipient; it never breaks a silence. It accepts the recipient when absent. */
  rcpt?: SimulatedReply | 'silence'
  /** How the mail server refuses the message at the final dot. It delivers the message when absent. */
  dot?: SimulatedReply
  /** What comes back after the message was delivered. */
  report?: 'complaint' | 'late_bounce'
}

/** By local part: the reason of the outcome, as the caller reads it. */
const BEHAVIOURS: Record<string, Behaviour> = {
  delivered: { status: 'delivered' },
  complaint: { status: 'delivered', report: 'complaint' },
  late_bounce: { status: 'delivered', report: 'late_bounce' },
  mailbox_full: { status: 'bounced', rcpt: { code: 452, text: '4.2.2 Mailbox is over its quota' } },
  no_mx_record: { status: 'bounced', route: { kind: 'no_mx_record', detail: 'the simulator has no MX for it' } },
  connection_timeout: { status: 'bounced', rcpt: 'silence' },
  policy_block: { status: 'bounced', rcpt: { code: 554, text: '5.7.1 Refused by local policy' } },
  spam_blocked: { status: 'bounced', dot: { code: 554, text: '5.7.1 Message refused as spam' } },
  temporary_failure: { status: 'bounced', rcpt: { code: 451, text: '4.3.0 Try again later' } },
  suppression_list: { status: 'rejected', route: { kind: 'suppression_list' } },
  invalid_address: { status: 'rejected', route: { kind: 'invalid_address', detail: 'the simulator never takes it' } },
}

const UNKNOWN = {
  name: 'mailbox_does_not_exist',
  status: 'bounced',
  rcpt: { code: 550, text: '5.1.1 No such mailbox here' },
} as const

/** Ignores case and everything from a `+` on. An unknown local part is a mailbox that does not exist. */
export function behaviourOf(local: string): Behaviour & { name: string } {
  const reason = local.toLowerCase().replace(/\+.*/s, '')
  const behaviour = Object.hasOwn(BEHAVIOURS, reason) ? BEHAVIOURS[reason] : undefined
  return behaviour ? { name: reason, ...behaviour } : UNKNOWN
}
