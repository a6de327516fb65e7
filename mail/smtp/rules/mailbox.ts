import { MAILBOX_BLOCKED, MAILBOX_DISABLED, MAILBOX_FULL, MAILBOX_REFUSED, NO_SPACE, USER_UNKNOWN } from './lexicon.ts'
import { numbers, pattern, words } from './pattern.ts'
import { CONTENT_PHASES, type ReplyRule, senderRow } from './rule.ts'

// Each is compiled once, at the first reply that needs it.
const UNKNOWN_USER = pattern(USER_UNKNOWN)
const STORAGE = pattern(NO_SPACE)
const DISABLED = pattern(MAILBOX_DISABLED)
const REFUSED = pattern(MAILBOX_REFUSED)

const MICROSOFT = ['outlook.com', 'mx.microsoft']

/** The disk of the server is not the mailbox of the recipient. */
const SYSTEM_STORAGE = words(
  'system storage, system disk, system resources, server storage, memory, system is full, insufficient disk space',
  'left on device, disk full, disk is full',
)

/** A row about the mailbox's space, which a 4xx reply speaks of as well. */
const full = (when: Partial<ReplyRule>): ReplyRule => ({
  name: 'full',
  subject: 'space',
  ...when,
  reason: 'mailbox_full',
  evenFor4xx: true,
  kind: 'full',
})

/** A row about a mailbox that may exist. */
const refused = (name: string, when: Partial<ReplyRule>): ReplyRule => ({
  name,
  subject: 'mailbox',
  ...when,
  reason: 'mailbox_does_not_exist',
  kind: 'refused',
})

export const SYSTEM_RULES: readonly ReplyRule[] = [senderRow('server trouble', { text: pattern(SYSTEM_STORAGE) })]

export const MAILBOX_FULL_RULES: readonly ReplyRule[] = [
  full({ status: numbers('[45].2.2') }),
  full({ text: pattern(MAILBOX_FULL) }),
]

/** A quota without a mailbox: the status or the code may say that it is another one. */
export const SPACE_RULES: readonly ReplyRule[] = [
  senderRow('quota', { status: numbers('(?:4.[3457]|5.7).*'), text: STORAGE }),
  senderRow('quota', { code: numbers('421'), text: STORAGE }),
  full({ text: STORAGE }),
]

/** Directory-based edge blocking: the recipient is not in the directory of the tenant. */
export const DIRECTORY_RULES: readonly ReplyRule[] = [
  refused('not in the directory', {
    status: numbers('5.4.1'),
    mx: MICROSOFT,
    text: pattern(words('recipient address rejected')),
  }),
]

export const MAILBOX_RULES: readonly ReplyRule[] = [
  // Servers have this status for a mailbox that exists, whatever their words are.
  refused('disabled', { status: numbers('5.2.1'), text: UNKNOWN_USER }),
  {
    name: 'unknown',
    subject: 'mailbox',
    text: UNKNOWN_USER,
    reason: 'mailbox_does_not_exist',
    kind: 'unknown',
  },
  // Beside words that no rule knows.
  refused('may be unknown', { text: UNKNOWN_USER }),
  refused('disabled', { text: pattern(MAILBOX_BLOCKED) }),
  // The text of RFC 5321 4.2.3 for 550 and 553 mentions policy and permission as examples.
  refused('refused', {
    text: pattern(words('mailbox name not allowed, no access or command rejected')),
  }),
]

const UNKNOWN_STATUS = numbers('5.1.(?:1|3|6|10)')

/** A status alone, and the status beside words that name no subject (registry: RFC 5248, 7372, 7505). */
export const STATUS_RULES: readonly ReplyRule[] = [
  {
    name: 'unknown',
    subject: 'mailbox',
    status: UNKNOWN_STATUS,
    silent: true,
    reason: 'mailbox_does_not_exist',
    kind: 'unknown',
  },
  refused('disabled', { status: UNKNOWN_STATUS, text: DISABLED }),
  {
    name: 'unknown by its status',
    subject: 'mailbox',
    status: UNKNOWN_STATUS,
    reason: 'mailbox_does_not_exist',
    kind: 'status',
  },
  refused('disabled', { status: numbers('5.2.1') }),
]

/** Words about a mailbox that leave open whether it exists. */
export const DOUBTFUL_RULES: readonly ReplyRule[] = [
  refused('disabled', { text: DISABLED }),
  senderRow('policy', { status: numbers('5.7.*') }),
  refused('refused', { code: numbers('55[013]'), status: numbers('5.[0125].*'), text: REFUSED }),
  refused('refused', { code: numbers('55[013]'), bare: true, text: REFUSED }),
  refused('refused', { phases: CONTENT_PHASES, status: numbers('5.1.0') }),
]

export const NUMBER_RULES: readonly ReplyRule[] = [
  { name: 'full', subject: 'space', code: numbers('552'), bare: true, reason: 'mailbox_full', kind: 'full' },
  refused('refused without words', { phases: ['rcpt'], code: numbers('55[013]'), bare: true, silent: true }),
]
