// What a negative reply means, as tables. Every pattern runs on text that the other side wrote, so every repetition has
// a small bound: the time is linear in the (capped) length of the text.

import type { BounceReason, Phase } from './attempt.ts'

/** A row holds when all of its conditions hold; in each table the first row that holds decides. */
export interface Rule {
  phases: readonly Phase[]
  /** Matches the three digits; any code when absent. */
  code?: RegExp
  /** Matches the RFC 3463 status; such a row never holds for a reply without a status. */
  status?: RegExp
  /** Holds only for a reply without a usable RFC 3463 status. */
  bare?: true
  /** The exchanger's name is one of these or a name below one of them. */
  mx?: readonly string[]
  text?: RegExp
  reason: BounceReason
}

const OPENING: Phase[] = ['greeting', 'ehlo']
const RCPT: Phase[] = ['rcpt']
const CONTENT: Phase[] = ['data', 'dot']
const RECIPIENT: Phase[] = ['rcpt', 'data', 'dot']

const MICROSOFT = ['outlook.com', 'mx.microsoft']
const UNITED_INTERNET = ['gmx.net', 'web.de', 'kundenserver.de', '1and1.com', 'ionos.com']
const YANDEX = ['yandex.ru', 'yandex.net', 'yandex.com']
const NETEASE = ['163.com', '126.com', 'netease.com']

/**
 * Texts that call the message itself spam, malicious or forbidden content. Block lists of addresses are not about the
 * message.
 */
const SPAM =
  /spam(?!haus|cop)|unsolicited|junk ?mail|bulk mail|phish|scam\b|\bUCE\b|virus|malware|malicious|trojan|infected|\b(?:surbl|uribl)\b|(?:^|[^a-z])dbl\.spamhaus/i
const FORBIDDEN_CONTENT =
  /content (?:rejected|denied|blocked|filter|policy|not allowed|restriction)|(?:its|message|mail|body|due to|prohibited|objectionable|suspicious) content|potential security issue|suspicious (?:attachment|message)|banned (?:file|attachment|extension)|(?:attachment|file) (?:type )?(?:is )?(?:not allowed|blocked|prohibited|forbidden)/i

const SENDING_LIMIT =
  /\b(?:sending|outbound|daily|hourly|sender|relay|message rate|connection|recipients?(?: per)?) .{0,20}(?:quota|limit)/i
const QUOTA =
  /over ?-?(?:the ?)?(?:storage |mailbox |disk )?quota|quota(?: limit)? (?:is |has been |was )?(?:full|exceed|reached|violat)|exceed\w{0,3} (?:mailbox |disk |storage |mail |user |his |her |its |the |their ){0,3}quota/i
const MAILBOX_FULL =
  /(?:mailbox|inbox|mail box|maildir|mail folder|account|storage|mail ?drop)(?: is| was)? (?:too )?full\b|mailbox .{0,80} is full|out of storage|exceed\w{0,3} (?:its |the |their |allowed |maximum |mailbox ){0,3}storage|mailbox (?:size |storage |space )?(?:limit )?(?:has |was |is )?(?:been )?exceeded|not enough (?:storage )?space in (?:the )?mailbox|mailbox has exceeded/i
const TOO_LARGE =
  /(?:message|mail|attachment|file|data|content|body)(?: is| was| file| size)? too (?:large|big|long)|(?:size|length) .{0,40}exceed|exceed.{0,60}\b(?:size|length)|larger than/i

const BLOCKED =
  /block|black ?-?list|deny ?-?list|\b(?:dns|r)bl\b|spam|unsolicited|\bUCE\b|junk ?mail|virus|malware|phish|polic(?:y|ies)|reputation|\bbanned\b|\bdenied\b|prohibit|forbidden|gr[ae]y ?-?list|not trusted|suspicious|\bfilter|\bis listed\b|listed (?:at|by|on)\b|(?:access|connection|message|mail|service) (?:is |was )?refused|client host/i
const NOT_AUTHENTIC =
  /\b(?:spf|dkim|dmarc)\b|unauthenticated|authenticat\w{0,3} (?:is )?(?:required|failed)|not authori[sz]ed|reverse dns|\brdns\b|\bptr\b|\bhelo\b|\behlo\b|(?:reverse )?hostname|only accept|(?:not|n't) (?:permitted|allowed) to|relay(?:ing)? (?:is )?not|no relay|unable to relay|(?:invalid|bad|unknown|forged|unverified) (?:sender|from|return)|spoof|(?:sender|from) domain|mail from|sender (?:address |domain |e?-?mail )?(?:is |was )?(?:rejected|refused|unknown|invalid|not|verif|does)/i
const RATE =
  /rate ?-?limit|(?:frequency|rate) (?:is )?(?:limit|exceed)|too many (?:connections|invalid|unknown|errors|failed|recipients|concurrent)|throttl|too (?:quickly|fast|frequently)|try (?:again )?later/i

const UNKNOWN_USER =
  /(?:no such|unknown|invalid|incorrect|illegal|bad|non-?existent|unrout(?:e?able)|undeliverable|inactive|disabled) (?:or \w{1,12} )?(?:virtual |local |destination |recipient )?(?:user|recipient|mailbox|mail box|address|account|person|alias|local ?-?part|mail drop|customer|e-?mail|rcpt)/i
const USER_UNKNOWN =
  /(?:user|recipient|mailbox|mail box|account|address|addressee|alias|local ?-?part|customer|e-?mail|rcpt)(?: name| id| address)?(?: is| was| has been| currently)? (?:unknown|unavailable|not (?:found|known|available|exist|active|valid|recogni|listed|here)|invalid|inactive|disabled|deleted|closed|expired|suspended|deactivated|discontinued|terminated|removed|no longer|does not exist|doesn'?t exist|do not exist|cannot be found)/i
const NOT_HERE =
  /(?:does not|doesn'?t|don'?t) (?:exist|have (?:an? )?(?:\S{1,80} )?account)|no (?:mailbox|user|recipient|account|one)(?: here)? (?:here|by that|with (?:that|this)|found|of that)|not (?:a|an) (?:known|valid|existing|active) (?:user|mailbox|recipient|address|account|e-?mail)|not our customer|no longer (?:accepts|accepting|valid|available|in use|active|exists|with)|not listed in|recipient not/i
const UNKNOWN_ABROAD =
  /unbekannt|nicht bekannt|existiert nicht|inconnue?\b|n'existe pas|desconocid|no existe|desconhecid|n[aã]o existe|sconosciut|inesistente|nie istnieje|neexistuje|не существует|onbekend|用户不存在/i

/** Rows that the phase decides: before the server has seen a recipient, a reply proves nothing about the recipient. */
export const PHASE_RULES: readonly Rule[] = [
  { phases: OPENING, code: /^4/, reason: 'temporary_failure' },
  { phases: OPENING, code: /^5/, reason: 'policy_block' },
  { phases: ['starttls'], reason: 'policy_block' },
  { phases: ['mail'], code: /^4/, reason: 'temporary_failure' },
  { phases: ['mail'], code: /^5/, reason: 'policy_block' },
]

/** Rows for RFC 3463 statuses with one clear meaning (registry: RFC 5248, 7372, 7505). */
export const STATUS_RULES: readonly Rule[] = [
  { phases: RECIPIENT, status: /^[45]\.2\.2$/, reason: 'mailbox_full' },
  // A common add-on of qmail says `552 5.1.1 5.2.2 sorry, final recipient mailbox is full`.
  { phases: RECIPIENT, code: /^552$/, status: /^5\.1\.1$/, text: MAILBOX_FULL, reason: 'mailbox_full' },
  // Servers also say this about a living mailbox that gets too much mail (Google), and about our own address.
  { phases: RECIPIENT, status: /^5\.2\.1$/, text: /receiving mail|(?:block|black) ?-?list/i, reason: 'policy_block' },
  { phases: RCPT, status: /^5\.(?:1\.(?:1|3|6|10)|2\.1)$/, reason: 'mailbox_does_not_exist' },
  { phases: CONTENT, status: /^5\.(?:1\.(?:1|2|3|4|6|10)|2\.1)$/, reason: 'mailbox_does_not_exist' },
  { phases: RECIPIENT, status: /^5\.(?:2\.3|3\.4)$/, reason: 'policy_block' },
  // Yandex answers for an unknown user with the status of a policy.
  { phases: RECIPIENT, status: /^5\.7\.1$/, mx: YANDEX, text: /no such user/i, reason: 'mailbox_does_not_exist' },
  { phases: RCPT, status: /^5\.7\./, reason: 'policy_block' },
  // Failed authentication (RFC 7372 and additions of Google and Microsoft): its texts often mention spam in passing.
  { phases: CONTENT, status: /^5\.7\.(?:2[0-7]|30|509|515)$/, reason: 'policy_block' },
  { phases: CONTENT, status: /^5\.7\./, text: SPAM, reason: 'spam_blocked' },
  { phases: CONTENT, status: /^5\.7\./, text: FORBIDDEN_CONTENT, reason: 'spam_blocked' },
  { phases: CONTENT, status: /^5\.7\./, reason: 'policy_block' },
]

/** Rows for texts that have a special meaning at one provider. */
export const PROVIDER_RULES: readonly Rule[] = [
  // Directory-based edge blocking: the recipient is not in the directory of the tenant.
  {
    phases: RECIPIENT,
    status: /^5\.4\.1$/,
    mx: MICROSOFT,
    text: /recipient address rejected: access denied/i,
    reason: 'mailbox_does_not_exist',
  },
  { phases: RECIPIENT, code: /^5/, mx: MICROSOFT, text: /\b(?:DY|OU|SC)-00\d\b/, reason: 'policy_block' },
  { phases: CONTENT, code: /^5/, mx: ['yahoodns.net'], text: /\[PH\d\d\]/, reason: 'spam_blocked' },
  {
    phases: RECIPIENT,
    code: /^5/,
    mx: UNITED_INTERNET,
    text: /too many messages on|zu ?viele mails|exhausted allowed storage|speichervolumen/i,
    reason: 'mailbox_full',
  },
  // Mail.ru also says this about blocked and terminated accounts, whose texts would otherwise read like a policy.
  { phases: RECIPIENT, code: /^5/, mx: ['mail.ru'], text: /-- invalid mailbox/i, reason: 'mailbox_does_not_exist' },
  {
    phases: RECIPIENT,
    code: /^5/,
    mx: ['qq.com'],
    text: /rejected by recipients|domain may not exist/i,
    reason: 'policy_block',
  },
  { phases: CONTENT, code: /^5/, mx: NETEASE, text: /\bDT:SPM\b/, reason: 'spam_blocked' },
]

/** Rows for the texts of most servers, for replies whose status is absent or vague. */
export const TEXT_RULES: readonly Rule[] = [
  { phases: RECIPIENT, code: /^4/, text: SENDING_LIMIT, reason: 'temporary_failure' },
  { phases: RECIPIENT, code: /^5/, text: SENDING_LIMIT, reason: 'policy_block' },
  { phases: RECIPIENT, code: /^(?:452|55[0-4])$/, text: QUOTA, reason: 'mailbox_full' },
  { phases: RECIPIENT, code: /^(?:452|55[0-4])$/, text: MAILBOX_FULL, reason: 'mailbox_full' },
  { phases: CONTENT, code: /^5/, text: SPAM, reason: 'spam_blocked' },
  { phases: CONTENT, code: /^5/, text: FORBIDDEN_CONTENT, reason: 'spam_blocked' },
  { phases: RECIPIENT, code: /^5/, text: TOO_LARGE, reason: 'policy_block' },
  { phases: RECIPIENT, code: /^5/, text: BLOCKED, reason: 'policy_block' },
  { phases: RECIPIENT, code: /^5/, text: NOT_AUTHENTIC, reason: 'policy_block' },
  { phases: RECIPIENT, code: /^5/, text: RATE, reason: 'policy_block' },
  { phases: RECIPIENT, code: /^5/, text: UNKNOWN_USER, reason: 'mailbox_does_not_exist' },
  { phases: RECIPIENT, code: /^5/, text: USER_UNKNOWN, reason: 'mailbox_does_not_exist' },
  { phases: RECIPIENT, code: /^5/, text: NOT_HERE, reason: 'mailbox_does_not_exist' },
  { phases: RECIPIENT, code: /^5/, text: UNKNOWN_ABROAD, reason: 'mailbox_does_not_exist' },
]

/** Rows for replies that tell nothing but their numbers. */
export const CODE_RULES: readonly Rule[] = [
  { phases: CONTENT, status: /^5\.1\.0$/, reason: 'mailbox_does_not_exist' },
  { phases: RECIPIENT, code: /^552$/, bare: true, reason: 'mailbox_full' },
  { phases: RCPT, code: /^55[013]$/, bare: true, reason: 'mailbox_does_not_exist' },
  { phases: RECIPIENT, code: /^4/, reason: 'temporary_failure' },
  { phases: RECIPIENT, code: /^5/, reason: 'policy_block' },
]

/** All rows, in order of precedence. */
export const RULES: readonly Rule[] = [...PHASE_RULES, ...STATUS_RULES, ...PROVIDER_RULES, ...TEXT_RULES, ...CODE_RULES]

/** Whether the text of a reply says that there is no such user. */
export const saysUserUnknown = (text: string) =>
  [UNKNOWN_USER, USER_UNKNOWN, NOT_HERE, UNKNOWN_ABROAD].some((words) => words.test(text))
