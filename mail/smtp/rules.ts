// What a negative reply means, as tables. The first row that holds decides. The order is that of the question "what
// does the reply speak of?": the session, us, the message, the mailbox's space, the mailbox, the route. Numbers decide
// only where the words speak of nothing.

import type { ReplyReading } from './attempt.ts'
import {
  DIRECTORY_RULES,
  DOUBTFUL_RULES,
  FULL_STATUS_RULES,
  MAILBOX_RULES,
  SPACE_RULES,
  STATUS_RULES,
} from './rules/mailbox.ts'
import { JUDGED_RULES, MESSAGE_RULES } from './rules/message.ts'
import { EXPIRY_RULES, ROUTE_RULES, ROUTE_STATUS_RULES } from './rules/route.ts'
import { RECIPIENT_PHASES, type ReplyPhase, type ReplyRule } from './rules/rule.ts'
import { SESSION_RULES, SESSION_STATUS_RULES } from './rules/session.ts'
import { POLICY_RULES, US_RULES } from './rules/us.ts'

const OPENING: readonly ReplyPhase[] = ['greeting', 'ehlo', 'starttls', 'mail']
const REPLIES_ON_RECIPIENTS: readonly ReplyPhase[] = ['rcpt']

/** Before the server has seen a recipient, a reply proves nothing about the recipient. */
const OPENING_RULES: readonly ReplyRule[] = [
  { name: 'TLS refused', subject: 'us', phases: ['starttls'], reason: 'policy_block', evenFor4xx: true },
  { name: 'refused before any recipient', subject: 'us', phases: OPENING, reason: 'policy_block' },
]

/** A host that takes no mail at all (RFC 7504) judges no mailbox, whatever its status. */
const HOST_RULES: readonly ReplyRule[] = [
  { name: 'no mail here', subject: 'us', phases: RECIPIENT_PHASES, code: /^(?:521|556)$/, reason: 'policy_block' },
]

/** Rows for replies that tell nothing but their numbers. */
const NUMBER_RULES: readonly ReplyRule[] = [
  {
    name: 'full',
    subject: 'space',
    phases: RECIPIENT_PHASES,
    code: /^552$/,
    bare: true,
    reason: 'mailbox_full',
    strike: 'full',
  },
  {
    name: 'refused without words',
    subject: 'mailbox',
    phases: REPLIES_ON_RECIPIENTS,
    code: /^55[013]$/,
    bare: true,
    silent: true,
    reason: 'mailbox_does_not_exist',
    strike: 'mailbox',
  },
  { name: 'not understood', subject: 'us', reason: 'policy_block' },
]

/** All rows, in order of precedence. */
export const RULES: readonly ReplyRule[] = [
  ...SESSION_RULES,
  ...JUDGED_RULES,
  ...US_RULES,
  ...SESSION_STATUS_RULES,
  ...OPENING_RULES,
  ...MESSAGE_RULES,
  ...SPACE_RULES,
  ...ROUTE_RULES,
  ...DIRECTORY_RULES,
  ...POLICY_RULES,
  ...MAILBOX_RULES,
  ...ROUTE_STATUS_RULES,
  ...FULL_STATUS_RULES,
  ...EXPIRY_RULES,
  ...HOST_RULES,
  ...STATUS_RULES,
  ...DOUBTFUL_RULES,
  ...NUMBER_RULES,
]

/** A reading in one phrase, as people see it: `us (rate)`. */
export const readAs = ({ subject, row }: ReplyReading): string => `${subject} (${row})`
