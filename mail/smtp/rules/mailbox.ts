import { MAILBOX_DISABLED, MAILBOX_PAUSED, MAY_BE_UNKNOWN, NO_SPACE, NOUN, USER_UNKNOWN } from './lexicon.ts'
import { pattern, words } from './pattern.ts'
import { CONTENT_PHASES, RECIPIENT_PHASES, type ReplyRule } from './rule.ts'

const MICROSOFT = ['outlook.com', 'mx.microsoft']

/** The disk of the server is not the mailbox of the recipient. */
const SYSTEM_STORAGE = words(
  'system storage, system disk, system resources, server storage, memory, system is full',
  'insufficient disk space, left on device',
)
const FOR_NOW = words('temporar*, currently, try again, try later, retry, wait, at this time, vorübergehend, momentan')

export const SPACE_RULES: readonly ReplyRule[] = [
  {
    name: 'full',
    subject: 'space',
    phases: RECIPIENT_PHASES,
    text: pattern(NO_SPACE),
    unless: pattern(SYSTEM_STORAGE),
    reason: 'mailbox_full',
    evenFor4xx: true,
    strike: 'full',
  },
]

/** Directory-based edge blocking: the recipient is not in the directory of the tenant. */
export const DIRECTORY_RULES: readonly ReplyRule[] = [
  {
    name: 'not in the directory',
    subject: 'mailbox',
    phases: RECIPIENT_PHASES,
    status: /^5\.4\.1$/,
    mx: MICROSOFT,
    text: pattern(words('recipient address rejected')),
    reason: 'mailbox_does_not_exist',
    strike: 'mailbox',
  },
]

export const MAILBOX_RULES: readonly ReplyRule[] = [
  // Yandex says so with the status of a policy, and Postfix for a rule of its operator.
  {
    name: 'unknown by policy',
    subject: 'mailbox',
    phases: RECIPIENT_PHASES,
    status: /^5\.7\./,
    text: pattern(USER_UNKNOWN),
    reason: 'mailbox_does_not_exist',
  },
  // Servers have this status for a mailbox that exists, whatever their words are.
  {
    name: 'disabled',
    subject: 'mailbox',
    phases: RECIPIENT_PHASES,
    status: /^5\.2\.1$/,
    text: pattern(USER_UNKNOWN),
    reason: 'mailbox_does_not_exist',
    strike: 'mailbox',
  },
  {
    name: 'unknown',
    subject: 'mailbox',
    phases: RECIPIENT_PHASES,
    text: pattern(USER_UNKNOWN),
    unless: pattern(words('temporar*, vorübergehend, tempor*'), MAY_BE_UNKNOWN),
    reason: 'mailbox_does_not_exist',
    strike: 'hard',
  },
]

export const FULL_STATUS_RULES: readonly ReplyRule[] = [
  {
    name: 'full',
    subject: 'space',
    phases: RECIPIENT_PHASES,
    status: /^[45]\.2\.2$/,
    reason: 'mailbox_full',
    evenFor4xx: true,
    strike: 'full',
  },
]

/** What a status says where the words speak of no other subject (registry: RFC 5248, 7372, 7505). */
export const STATUS_RULES: readonly ReplyRule[] = [
  {
    name: 'unknown',
    subject: 'mailbox',
    phases: RECIPIENT_PHASES,
    status: /^5\.1\.(?:1|3|6|10)$/,
    unless: pattern(FOR_NOW, MAILBOX_PAUSED),
    reason: 'mailbox_does_not_exist',
    strike: 'hard',
  },
  {
    name: 'disabled',
    subject: 'mailbox',
    phases: RECIPIENT_PHASES,
    status: /^5\.(?:2\.1|1\.(?:1|3|6|10))$/,
    reason: 'mailbox_does_not_exist',
    strike: 'mailbox',
  },
]

/** Words about a mailbox that leave open whether it exists. */
export const DOUBTFUL_RULES: readonly ReplyRule[] = [
  {
    name: 'policy',
    subject: 'us',
    phases: RECIPIENT_PHASES,
    status: /^5\.7\./,
    unless: pattern(MAILBOX_DISABLED),
    reason: 'policy_block',
  },
  {
    name: 'disabled',
    subject: 'mailbox',
    phases: RECIPIENT_PHASES,
    text: pattern(MAILBOX_DISABLED),
    reason: 'mailbox_does_not_exist',
    strike: 'mailbox',
  },
  {
    name: 'refused',
    subject: 'mailbox',
    phases: RECIPIENT_PHASES,
    code: /^55[013]$/,
    status: /^5\.(?:0|1|2|5)\./,
    text: pattern(NOUN),
    reason: 'mailbox_does_not_exist',
    strike: 'mailbox',
  },
  {
    name: 'refused',
    subject: 'mailbox',
    phases: RECIPIENT_PHASES,
    code: /^55[013]$/,
    bare: true,
    text: pattern(NOUN),
    reason: 'mailbox_does_not_exist',
    strike: 'mailbox',
  },
  {
    name: 'refused',
    subject: 'mailbox',
    phases: CONTENT_PHASES,
    status: /^5\.1\.0$/,
    reason: 'mailbox_does_not_exist',
    strike: 'mailbox',
  },
]
