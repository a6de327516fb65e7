import { expect, test } from 'vitest'
import { labelledReplies, NAMES, REPLIES } from '../../../bench/verdicts/labelled.ts'
import type { BounceReason, Outcome, Phase, Reply } from '../../../mail/smtp/attempt.ts'
import { classify, ruleFor } from '../../../mail/smtp/classify.ts'
import { toReply } from '../../../mail/smtp/reply.ts'
import { RULES, readAs } from '../../../mail/smtp/rules.ts'

const MX = 'mx.example.net'
const GOOGLE = 'gmail-smtp-in.l.google.com'
const OUTLOOK = 'example-com.mail.protection.outlook.com'
const HOTMAIL = 'hotmail-com.olc.protection.outlook.com'
const YAHOO = 'mta5.am0.yahoodns.net'
const ICLOUD = 'mx01.mail.icloud.com'
const GODADDY = 'smtp.secureserver.net'
const GMX = 'mx00.gmx.net'
const WEB_DE = 'mx-ha02.web.de'
const MAIL_RU = 'mxs.mail.ru'
const YANDEX = 'mx.yandex.ru'
const MIMECAST = 'eu-smtp-inbound-1.mimecast.com'
const PROOFPOINT = 'mx0a-00000000.pphosted.com'
const BARRACUDA = 'd1.ess.barracudanetworks.com'
const QQ = 'mx3.qq.com'
const NETEASE = '163mx01.mxmail.netease.com'

/** The reply as the client reads it. */
function reply(line: string): Reply {
  return toReply({ code: Number(line.slice(0, 3)), lines: [line.slice(4)] })
}

const temporary: Outcome = { kind: 'bounced', reason: 'temporary_failure', retryable: true }

type Row = [line: string, reason: BounceReason, mx?: string]

const GREETING: Row[] = [
  ['421 4.3.2 Service not available, closing transmission channel', 'temporary_failure'],
  ['421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred due to user complaints', 'temporary_failure', YAHOO],
  ['450 4.7.1 Client host rejected: cannot find your reverse hostname', 'temporary_failure'],
  ['554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org', 'policy_block'],
  ['554 IP=192.0.2.1 - A problem occurred. (Ask your postmaster for help)', 'policy_block', 'mx00.t-online.de'],
  ['554 resimta-po-11v.sys.comcast.net 192.0.2.1 found on one or more DNSBLs', 'policy_block'],
  ['521 5.3.2 example.net does not accept mail', 'policy_block'],
  ['556 5.1.10 null MX', 'policy_block'],
]

const MAIL: Row[] = [
  ['451 4.3.0 Mail server temporarily rejected message', 'temporary_failure', GOOGLE],
  ['452 4.3.1 Insufficient system storage', 'temporary_failure'],
  ['421 4.7.1 Messages deferred due to excessive volume. Try again later', 'temporary_failure', ICLOUD],
  ['550 5.7.1 Sender rejected: SPF check failed', 'policy_block'],
  ['550 5.1.8 Sender address rejected: Domain not found', 'policy_block'],
  ['501 5.1.7 Bad sender address syntax', 'policy_block'],
  ['552 5.3.4 Message size exceeds fixed limit', 'policy_block'],
  ['552 Message size exceeds maximum value', 'policy_block'],
  ['550 5.1.1 sender unknown', 'policy_block'],
  ['553 5.7.1 [BL21] Connections will not be accepted from 192.0.2.1', 'policy_block', YAHOO],
  ['550 5.1.0 192.0.2.1 is not allowed to send from <b.example> per its SPF Record. IB508', 'policy_block', GODADDY],
]

const RCPT: Row[] = [
  // Full, by status
  ['452 4.2.2 The email account that you tried to reach is over quota. gsmtp', 'mailbox_full', GOOGLE],
  ['552 5.2.2 user is over quota', 'mailbox_full', ICLOUD],
  ['450 4.2.2 user is overquota', 'mailbox_full', ICLOUD],
  ['421 4.2.2 mailbox is over its limit, closing', 'mailbox_full'],
  ['550 4.2.2 no space', 'mailbox_full'],
  ['552 5.1.1 5.2.2 sorry, final recipient mailbox is full (chkuser)', 'mailbox_full'],
  ['422 4.2.2 Quota limit exceeded (Speicherplatz des Kontos ueberschritten)', 'mailbox_full'],
  // Full, by text or the bare code
  ['552 Requested mail action aborted: exceeded storage allocation Quota exceeded', 'mailbox_full', GMX],
  ['552 Mailbox for user@example.com is full', 'mailbox_full'],
  ['552 that cannot be', 'mailbox_full'],
  ['452 mailbox full', 'mailbox_full'],
  ['452 4.3.1 user has exceeded their quota', 'mailbox_full'],
  ['550 Mailbox quota exceeded', 'mailbox_full'],
  ['550 5.0.0 over quota', 'mailbox_full'],
  [
    '554 delivery error: dd Sorry, your message cannot be delivered. This account is over quota.',
    'mailbox_full',
    YAHOO,
  ],
  ['554 5.0.0 The mailbox has exceeded its storage limit', 'mailbox_full'],
  ['550 Inbox full', 'mailbox_full'],
  ['550 Mailbox size limit exceeded', 'mailbox_full', YANDEX],
  [
    '550 Benutzer hat zuviele Mails auf dem Server. / User has too many messages on the server.',
    'mailbox_full',
    WEB_DE,
  ],
  ['550 User has exhausted allowed storage space.', 'mailbox_full', WEB_DE],
  // Not full
  ['452 4.5.3 Too many recipients', 'temporary_failure'],
  ['452 Requested action not taken: insufficient system storage', 'temporary_failure'],
  ['452 4.2.1 Sender quota limit exceeded', 'temporary_failure'],
  ['550 5.4.5 Daily SMTP relay sending quota exceeded', 'policy_block', GOOGLE],
  ['552 5.3.4 Message size exceeds fixed maximum message size', 'policy_block'],
  ['552 Message size exceeds fixed maximum message size: 5242880 bytes', 'policy_block'],
  ['552 5.2.3 Message length exceeds administrative limit', 'policy_block'],
  ['450 mailbox full, they say', 'mailbox_full'],
  // Unknown, by status
  ['550 5.1.1 The email account that you tried to reach does not exist. gsmtp', 'mailbox_does_not_exist', GOOGLE],
  ['550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found', 'mailbox_does_not_exist', OUTLOOK],
  ['553 5.1.3 Bad destination mailbox address syntax', 'mailbox_does_not_exist'],
  ['551 5.1.6 Mailbox has moved', 'mailbox_does_not_exist'],
  ['550 5.2.1 The email account that you tried to reach is disabled', 'mailbox_does_not_exist', GOOGLE],
  ['550 5.1.1 User Unknown', 'mailbox_does_not_exist', PROOFPOINT],
  ['554 Sorry, no mailbox here by that name. (#5.1.1)', 'mailbox_does_not_exist'],
  ['511 5.1.1 unknown address', 'mailbox_does_not_exist'],
  ['550 5.7.1 No such user! 1700000000-abcdef', 'mailbox_does_not_exist', YANDEX],
  // Unknown, by text or the bare code
  ['550 5.4.1 Recipient address rejected: Access denied.', 'mailbox_does_not_exist', OUTLOOK],
  ['550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302)', 'mailbox_does_not_exist', HOTMAIL],
  ['550 Requested action not taken: mailbox unavailable', 'mailbox_does_not_exist', GMX],
  [
    '550 Message was not accepted -- invalid mailbox. Local mailbox is unavailable: user is blocked',
    'mailbox_does_not_exist',
    MAIL_RU,
  ],
  ['550 Invalid Recipient', 'mailbox_does_not_exist', MIMECAST],
  ['550 Mailbox not found.', 'mailbox_does_not_exist', QQ],
  ['550 gone', 'policy_block'],
  ['551 User not local; please try <user@example.org>', 'mailbox_does_not_exist'],
  ['553 Requested action not taken: mailbox name not allowed', 'mailbox_does_not_exist'],
  ['550 4.1.1 a status of the wrong class', 'connection_timeout'],
  ['550 5.0.0 Unknown local part', 'mailbox_does_not_exist'],
  ['554 no such address here', 'mailbox_does_not_exist'],
  ['550 <spam@blocked.example>: User unknown', 'mailbox_does_not_exist'],
  ['554 user <policy@example.com> unknown', 'mailbox_does_not_exist'],
  ['554 mailbox <user@example.com> is full', 'mailbox_full'],
  ['554 User user@example.com not listed in Domino Directory', 'mailbox_does_not_exist'],
  [
    '550-Mailbox unknown. Either there is no mailbox with this name or you do not have authorization to see it.',
    'mailbox_does_not_exist',
  ],
  ['554 5.0.0 mailbox unavailable', 'mailbox_does_not_exist'],
  [
    '550 5.1.0 <user@example.com>: Recipient address rejected: User unknown in virtual alias table',
    'mailbox_does_not_exist',
  ],
  ['550 5.5.0 recipient is no longer available', 'mailbox_does_not_exist'],
  ['550 5.1.0 Adresse inconnue', 'mailbox_does_not_exist'],
  ['550 5.0.0 Empfänger unbekannt', 'mailbox_does_not_exist'],
  ['501 Bad recipient address syntax', 'mailbox_does_not_exist'],
  // Policy
  ['550 5.7.1 Relaying denied', 'policy_block'],
  ['550 5.7.606 Access denied, banned sending IP [192.0.2.1]', 'policy_block', OUTLOOK],
  ['554 5.7.1 <user@example.com>: Recipient address rejected: User unknown', 'mailbox_does_not_exist'],
  ['550 5.2.1 The user you are trying to contact is receiving mail at a rate that prevents', 'policy_block', GOOGLE],
  ['550 5.2.1 Mailbox unavailable. Your IP address 192.0.2.1 is blacklisted using SPAMHAUS-XBL', 'policy_block'],
  ['550 5.4.1 Recipient address rejected: Access denied.', 'policy_block'],
  ['550 5.4.4 Unable to route', 'policy_block'],
  ['550 5.1.2 Bad destination system', 'policy_block'],
  ['554 Transaction failed', 'policy_block'],
  ['550 5.0.0 Rejected', 'policy_block'],
  ['550 192.0.2.1 blacklisted see http://www.spamhaus.org/query/bl?ip=192.0.2.1', 'policy_block'],
  ['550 SC-001 (BAY004-MC1F31) Unfortunately, messages from 192.0.2.1 were not sent.', 'policy_block', HOTMAIL],
  ['550 Rejected by header based manually Blocked Senders', 'policy_block', MIMECAST],
  ['550 csi.mimecast.org Poor Reputation Sender', 'policy_block', MIMECAST],
  ['550 Administrative prohibition - envelope blocked', 'policy_block', MIMECAST],
  ['550 Mailbox unavailable or access denied', 'policy_block', QQ],
  ['550 Connection frequency limited.', 'policy_block', QQ],
  ['550 Domain may not exist or DNS check failed', 'policy_block', QQ],
  ['550 Sender verify failed', 'policy_block'],
  ['550 relay not permitted', 'policy_block'],
  ["553 sorry, that domain isn't allowed to be relayed thru this MTA", 'policy_block'],
  ['550 Too many invalid recipients', 'policy_block'],
  ['550 192.0.2.1 is listed at bl.example.org', 'policy_block'],
  ['550 Client host rejected', 'policy_block'],
  ['550 Access refused', 'policy_block'],
  ['550 invalid sender address', 'policy_block'],
  ['553 Mail from 192.0.2.1 not welcome', 'policy_block'],
  ['550 spam is not wanted here', 'policy_block'],
  ['551 virus sender', 'policy_block'],
  ['554 5.7.0 Blocked - see https://ipcheck.proofpoint.com/?ip=192.0.2.1', 'policy_block', PROOFPOINT],
  // Temporary
  ['450 4.1.1 Recipient address rejected: unverified address', 'temporary_failure'],
  ['450 4.2.0 <user@example.com>: Recipient address rejected: Greylisted', 'temporary_failure'],
  ['451 4.7.1 Greylisting in action, please come back later', 'temporary_failure'],
  ['450 4.2.1 The user you are trying to contact is receiving mail too quickly.', 'temporary_failure', GOOGLE],
  [
    '451 4.7.650 The mail server has been temporarily rate limited due to IP reputation. (S775)',
    'temporary_failure',
    HOTMAIL,
  ],
  ['421 4.7.0 Try again later, closing connection.', 'temporary_failure', GOOGLE],
  ['450 5.1.1 a status of the wrong class', 'temporary_failure'],
  ['450 no such user', 'temporary_failure'],
]

const DATA_AND_DOT: Row[] = [
  ['552 5.2.2 This message is larger than the current system limit or the mailbox is full.', 'mailbox_full'],
  ['452 4.2.2 Over quota', 'mailbox_full'],
  ['552 Requested mail action aborted', 'mailbox_full'],
  ['554 delivery error: dd Sorry, mailbox is full', 'mailbox_full', YAHOO],
  ['550 5.1.1 User unknown', 'mailbox_does_not_exist'],
  ['550 5.1.2 no such host', 'policy_block'],
  ['550 5.1.0 Address rejected', 'mailbox_does_not_exist'],
  ['554 5.2.1 Inactive user', 'mailbox_does_not_exist'],
  [
    "554 delivery error: dd This user doesn't have a yahoo.com account (user@yahoo.com)",
    'mailbox_does_not_exist',
    YAHOO,
  ],
  ['554 delivery error: dd This account has been disabled or discontinued [#102].', 'mailbox_does_not_exist', YAHOO],
  ['550 Requested action not taken: mailbox unavailable', 'mailbox_does_not_exist'],
  ['550 5.7.1 Our system has detected that this message is likely unsolicited mail.', 'spam_blocked', GOOGLE],
  [
    '552 5.7.0 This message was blocked because its content presents a potential security issue.',
    'spam_blocked',
    GOOGLE,
  ],
  ['554 5.7.1 [1] Message rejected under suspicion of SPAM; https://ya.cc/1IrBc', 'spam_blocked', YANDEX],
  ['571 5.7.1 message classified as spam (Nachricht als Spam eingestuft)', 'spam_blocked'],
  ['550 spam message rejected. Please visit http://help.mail.ru/notspam-support/', 'spam_blocked', MAIL_RU],
  [
    '552 5.2.0 This message has been rejected due to content judged to be spam by the internet community IB212',
    'spam_blocked',
    GODADDY,
  ],
  ['552 Virus infected message rejected. IB705', 'spam_blocked', GODADDY],
  ['554 Email rejected due to security policies - MCSpamSignature.x.1', 'spam_blocked', MIMECAST],
  ['550 Mail content denied.', 'spam_blocked', QQ],
  ['554 DT:SPM 163 mx1,AAAAA,please see http://mail.163.com/help/help_spam_16.htm', 'spam_blocked', NETEASE],
  ['554 DT:SPM 163 mx1', 'spam_blocked', NETEASE],
  ['554 Message not allowed - [PH01] Email not accepted for policy reasons.', 'spam_blocked', YAHOO],
  ['554 5.7.1 Service unavailable; Sender address [a@b.example] blocked using dbl.spamhaus.org', 'policy_block'],
  ['554 5.6.0 banned attachment', 'spam_blocked'],
  [
    '550 5.7.26 Unauthenticated email is not accepted due to the DMARC policy. To protect users from spam',
    'policy_block',
    GOOGLE,
  ],
  ['550 5.7.1 Message rejected due to local policy', 'policy_block', ICLOUD],
  ['554 5.7.9 Message not accepted for policy reasons.', 'policy_block', YAHOO],
  ['554 5.7.1 Client host [192.0.2.1] blocked using zen.spamhaus.org', 'policy_block'],
  ['550 5.7.1 User unknown', 'mailbox_does_not_exist'],
  ['550 permanent failure for one or more recipients (user@example.com:blocked)', 'policy_block', BARRACUDA],
  ['552 5.3.4 Message too big for system', 'policy_block'],
  ['552 Error: message too large', 'policy_block'],
  ['552 Message exceeds local size limit', 'policy_block'],
  ['550 Mail is rejected by recipients', 'policy_block', QQ],
  ['554 rejected because of the DKIM signature', 'policy_block'],
  ['554 Too many connections', 'temporary_failure'],
  ['554 Transaction failed', 'policy_block'],
  ['550 no', 'policy_block'],
  ['553 no', 'policy_block'],
  ['451 4.3.0 Temporary failure', 'temporary_failure'],
  ['452 Requested action not taken: insufficient system storage', 'temporary_failure'],
  ['451 DT:SPM ,please try again', 'temporary_failure', NETEASE],
  ['421 4.4.2 Timeout - closing connection.', 'temporary_failure'],
]

const CASES: [Phase, ...Row][] = [
  ...GREETING.map((row): [Phase, ...Row] => ['greeting', ...row]),
  ...GREETING.map((row): [Phase, ...Row] => ['ehlo', ...row]),
  ['starttls', '454 4.7.0 TLS not available due to temporary reason', 'policy_block'],
  ['starttls', '502 5.5.1 command not implemented', 'policy_block'],
  ...MAIL.map((row): [Phase, ...Row] => ['mail', ...row]),
  ...RCPT.map((row): [Phase, ...Row] => ['rcpt', ...row]),
  ...DATA_AND_DOT.map((row): [Phase, ...Row] => ['data', ...row]),
  ...DATA_AND_DOT.map((row): [Phase, ...Row] => ['dot', ...row]),
]

test.each(CASES)('in reply to %s, "%s" is %s', (phase, line, reason, mx = MX) => {
  expect(classify({ phase, reply: reply(line), mx }).outcome).toEqual({
    kind: 'bounced',
    reason,
    retryable: reason === 'temporary_failure' || reason === 'connection_timeout',
  })
})

const LABELLED = REPLIES.flatMap(labelledReplies)

test.each(LABELLED.map((labelled) => [labelled.line || 'nothing', labelled] as const))(
  '"%s" is read as labelled',
  (_, labelled) => {
    const { phase, reply, mx, subject, reason, kind } = labelled
    const { outcome, reading } = classify({ phase, reply, mx, names: NAMES })
    expect(outcome).toMatchObject({ kind: 'bounced', reason })
    expect({ subject: reading!.subject, kind: reading!.kind ?? '-' }).toEqual({ subject, kind })
  },
)

test('every rule decides at least one of the replies above', () => {
  const used = new Set([
    ...CASES.map(([phase, line, , mx = MX]) => ruleFor({ phase, reply: reply(line), mx })),
    ...LABELLED.map(({ phase, reply, mx }) => ruleFor({ phase, reply, mx, names: NAMES })),
  ])
  expect(RULES.filter((rule) => !used.has(rule))).toEqual([])
})

test('rows with the same subject and name count alike against an address', () => {
  for (const { subject, name, kind } of RULES) {
    const others = RULES.filter((rule) => rule.subject === subject && rule.name === name)
    expect(new Set(others.map((rule) => rule.kind)), `${subject} (${name})`).toEqual(new Set([kind]))
  }
})

test('only a reply about the mailbox or its space counts against an address', () => {
  for (const { subject, kind } of RULES) if (kind) expect(['mailbox', 'space']).toContain(subject)
})

test('a positive reply means delivered to the dot, and to no other command', () => {
  for (const code of [250, 251, 200, 299]) {
    expect(classify({ phase: 'dot', reply: { code, text: 'OK' }, mx: MX }).outcome).toEqual({ kind: 'delivered' })
    for (const phase of ['greeting', 'ehlo', 'mail', 'rcpt', 'data'] as const)
      expect(classify({ phase, reply: { code, text: 'OK' }, mx: MX }).outcome).toEqual(temporary)
  }
})

test('after the dot, a reply that neither accepts nor refuses leaves the message in doubt', () => {
  for (const code of [0, 150, 354, 600, 999])
    expect(classify({ phase: 'dot', reply: { code, text: '' }, mx: MX }).outcome).toEqual({ kind: 'in_doubt' })
  expect(classify({ phase: 'after_dot', reply: { code: 550, text: '' }, mx: MX }).outcome).toEqual({ kind: 'in_doubt' })
})

test('a provider is recognised by the end of the exchanger name, at a label border', () => {
  const line = reply('550 5.4.1 Recipient address rejected: Access denied.')
  const reasonAt = (mx: string) => {
    const { outcome } = classify({ phase: 'rcpt', reply: line, mx })
    return outcome.kind === 'bounced' && outcome.reason
  }
  expect(reasonAt('MX.Protection.Outlook.com')).toBe('mailbox_does_not_exist')
  expect(reasonAt('outlook.com')).toBe('mailbox_does_not_exist')
  expect(reasonAt('notoutlook.com')).toBe('policy_block')
  expect(reasonAt('mx.outlook.com.evil.example')).toBe('policy_block')
})

test.each(['ann@bücher.example', 'ANN@BÜCHER.example.', 'ann@xn--bcher-kva.example'])(
  'the recipient is known by either form of its domain: %s',
  (shown) => {
    const names = { recipient: 'ann@xn--bcher-kva.example' }
    const { reading } = classify({ phase: 'rcpt', reply: reply(`550 <${shown}> unknown`), mx: MX, names })
    expect(readAs(reading!)).toBe('mailbox (unknown)')
  },
)

test('a status counts at the start of a line or behind a number sign, and nowhere else', () => {
  const row = (line: string) => readAs(classify({ phase: 'rcpt', reply: reply(line), mx: MX }).reading!)
  expect(row('554 5.1.1 Nope')).toBe('mailbox (unknown by its status)')
  expect(row('554 Nope (#5.1.1)')).toBe('mailbox (unknown by its status)')
  for (const text of ['see 5.1.1.7', 'v5.1.1', 'nope 5.1.1', 'they said: 550 5.1.1'])
    expect(row(`554 ${text}`), text).toBe('sender (not understood)')
})

test('every reply of every phase and code has an outcome', () => {
  const phases: Phase[] = ['dns', 'connect', 'greeting', 'ehlo', 'starttls', 'mail', 'rcpt', 'data', 'dot', 'after_dot']
  for (const phase of phases)
    for (let code = 0; code < 1000; code++)
      expect(classify({ phase, reply: { code, text: '' }, mx: '' }).outcome.kind).toBeTypeOf('string')
})
