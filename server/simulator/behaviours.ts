import type { MxLookup } from '../smtp/attempt.ts'

export interface Reply {
  code: number
  text: string
}

/** What the simulator does with a local part. */
export interface Behaviour {
  status: 'delivered' | 'bounced' | 'rejected'
  /** How it comes about before a mail server is asked. */
  route?: { kind: 'suppression_list' } | Exclude<MxLookup, { kind: 'site' }>
  /** How the mail server refuses the recipient; a silence is never broken. Absent: it accepts. */
  rcpt?: Reply | 'silence'
  /** How it refuses the message at the final dot. Absent: it delivers. */
  dot?: Reply
}

/** The local part is the reason of its outcome, as a caller reads it. */
const BEHAVIOURS: Record<string, Behaviour> = {
  delivered: { status: 'delivered' },
  mailbox_full: { status: 'bounced', rcpt: { code: 452, text: '4.2.2 Mailbox is over its quota' } },
  mailbox_does_not_exist: { status: 'bounced', rcpt: { code: 550, text: '5.1.1 No such mailbox here' } },
  no_mx_record: { status: 'bounced', route: { kind: 'no_mx_record', detail: 'the simulator has no MX for it' } },
  connection_timeout: { status: 'bounced', rcpt: 'silence' },
  policy_block: { status: 'bounced', rcpt: { code: 554, text: '5.7.1 Refused by local policy' } },
  spam_blocked: { status: 'bounced', dot: { code: 554, text: '5.7.1 Message refused as spam' } },
  temporary_failure: { status: 'bounced', rcpt: { code: 451, text: '4.3.0 Try again later' } },
  suppression_list: { status: 'rejected', route: { kind: 'suppression_list' } },
  invalid_address: { status: 'rejected', route: { kind: 'invalid_address', detail: 'the simulator never takes it' } },
}

const UNKNOWN = 'mailbox_does_not_exist'

/** Case and everything from a `+` on do not matter; an unknown local part is a mailbox that does not exist. */
export function behaviourOf(local: string): Behaviour & { name: string } {
  const word = local.toLowerCase().replace(/\+.*/s, '')
  const name = Object.hasOwn(BEHAVIOURS, word) ? word : UNKNOWN
  return { name, ...BEHAVIOURS[name]! }
}
