// What a negative reply means, as tables. The first row that holds for one of the reply's clauses decides. The order is
// that of the question "what does the reply speak of?": the session, the sender, the message, the mailbox's space, the
// mailbox, the route. Numbers decide only where the words speak of nothing.

import type { ReplyReading } from './attempt.ts'
import {
  DIRECTORY_RULES,
  DOUBTFUL_RULES,
  MAILBOX_FULL_RULES,
  MAILBOX_RULES,
  NUMBER_RULES,
  SPACE_RULES,
  STATUS_RULES,
  SYSTEM_RULES,
} from './rules/mailbox.ts'
import { CONTENT_RULES, JUDGED_RULES, LINK_RULES, MESSAGE_RULES, SIZE_STATUS_RULES } from './rules/message.ts'
import { numbers } from './rules/pattern.ts'
import { EXPIRY_RULES, HOST_RULES, NOT_REACHED_RULES, NULL_MX_RULES, ROUTE_STATUS_RULES } from './rules/route.ts'
import type { ReplyPhase, ReplyRule } from './rules/rule.ts'
import {
  DOMAIN_RULES,
  FAULT_RULES,
  POLICY_RULES,
  QUOTA_RULES,
  RATE_RULES,
  REPUTATION_RULES,
  SENDER_RULES,
} from './rules/sender.ts'
import { SEQUENCE_RULES, SESSION_RULES, SESSION_STATUS_RULES } from './rules/session.ts'

const OPENING_PHASES: readonly ReplyPhase[] = ['greeting', 'ehlo', 'starttls', 'mail']

/** Before the server has seen a recipient, a reply proves nothing about the recipient. */
const OPENING_RULES: readonly ReplyRule[] = [
  ...RATE_RULES,
  ...SESSION_RULES,
  ...SESSION_STATUS_RULES,
  { name: 'TLS refused', subject: 'sender', phases: ['starttls'], reason: 'policy_block', evenFor4xx: true },
  ...REPUTATION_RULES,
  { name: 'refused before any recipient', subject: 'sender', reason: 'policy_block' },
]

const RECIPIENT_RULES: readonly ReplyRule[] = [
  ...RATE_RULES,
  ...SESSION_RULES,
  ...SEQUENCE_RULES,
  ...LINK_RULES,
  ...REPUTATION_RULES,
  ...JUDGED_RULES,
  ...NULL_MX_RULES,
  ...SENDER_RULES,
  ...DOMAIN_RULES,
  ...SESSION_STATUS_RULES,
  ...SIZE_STATUS_RULES,
  ...SYSTEM_RULES,
  ...QUOTA_RULES,
  ...MAILBOX_FULL_RULES,
  ...MESSAGE_RULES,
  ...SPACE_RULES,
  ...HOST_RULES,
  ...DIRECTORY_RULES,
  ...FAULT_RULES,
  ...MAILBOX_RULES,
  ...NOT_REACHED_RULES,
  ...CONTENT_RULES,
  ...POLICY_RULES,
  ...ROUTE_STATUS_RULES,
  ...EXPIRY_RULES,
  { name: 'no mail here', subject: 'sender', code: numbers('521'), reason: 'policy_block' },
  ...STATUS_RULES,
  ...DOUBTFUL_RULES,
  ...NUMBER_RULES,
  { name: 'not understood', subject: 'sender', reason: 'policy_block' },
]

/** The rows that are asked at a phase, in order of precedence. The last one always holds. */
export const rulesAt = (phase: ReplyPhase): readonly ReplyRule[] =>
  OPENING_PHASES.includes(phase) ? OPENING_RULES : RECIPIENT_RULES

/** All rows. */
export const RULES: readonly ReplyRule[] = [...new Set([...OPENING_RULES, ...RECIPIENT_RULES])]

/** A reading in one phrase, as people see it: `sender (rate)`. */
export const readAs = ({ subject, row }: Pick<ReplyReading, 'subject' | 'row'>): string => `${subject} (${row})`
