import { expect, test } from 'vitest'
import { labelledReplies, NAMES, REPLIES } from '../../../bench/verdicts/labelled.ts'
import type { BounceReason, Phase, Reply } from '../../../mail/smtp/attempt.ts'
import { classify, ruleFor } from '../../../mail/smtp/classify.ts'
import { toReply } from '../../../mail/smtp/reply.ts'
import { RULES, readAs } from '../../../mail/smtp/rules.ts'

const MX = 'mx.example.net'
const GOOGLE = 'gmail-smtp-in.l.google.com'
const HOTMAIL = 'hotmail-com.olc.protection.outlook.com'
const YAHOO = 'mta5.am0.yahoodns.net'
const ICLOUD = 'mx01.mail.icloud.com'
const GODADDY = 'smtp.secureserver.net'
const GMX = 'mx00.gmx.net'
const WEB_DE = 'mx-ha02.web.de'
const YANDEX = 'mx.yandex.ru'
const MIMECAST = 'eu-smtp-inbound-1.mimecast.com'
const NETEASE = '163mx01.mxmail.netease.com'

/** The reply as the client reads it. */
function reply(line: string): Reply {
  return toReply({ code: Number(line.slice(0, 3)), lines: [line.slice(4)] })
}

const bounced = (reason: string) => ({
  kind: 'bounced',
  reason,
  retryable: reason === 'temporary_failure' || reason === 'connection_timeout',
})

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
  ['421 4.7.1 Messages deferred due to excessive volume. Try again later', 'temporary_failure', ICLOUD],
  ['550 5.7.1 Sender rejected: SPF check failed', 'policy_block'],
  ['550 5.1.1 sender unknown', 'policy_block'],
  ['550 5.1.0 192.0.2.1 is not allowed to send from <b.example> per its SPF Record. IB508', 'policy_block', GODADDY],
]

const RCPT: Row[] = [
  // Full, by status
  ['552 5.1.1 5.2.2 sorry, final recipient mailbox is full (chkuser)', 'mailbox_full'],
  // Full, by text or the bare code
  ['552 Requested mail action aborted: exceeded storage allocation Quota exceeded', 'mailbox_full', GMX],
  ['552 Mailbox for user@example.com is full', 'mailbox_full'],
  ['552 that cannot be', 'mailbox_full'],
  ['452 mailbox full', 'mailbox_full'],
  ['452 4.3.1 user has exceeded their quota', 'mailbox_full'],
  ['550 Mailbox quota exceeded', 'mailbox_full'],
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
  // Not full
  ['452 Requested action not taken: insufficient system storage', 'temporary_failure'],
  ['452 4.2.1 Sender quota limit exceeded', 'temporary_failure'],
  ['550 5.4.5 Daily SMTP relay sending quota exceeded', 'policy_block', GOOGLE],
  ['552 Message size exceeds fixed maximum message size: 5242880 bytes', 'policy_block'],
  ['450 mailbox full, they say', 'mailbox_full'],
  // Unknown, by status
  ['511 5.1.1 unknown address', 'mailbox_does_not_exist'],
  // Unknown, by text or the bare code
  ['550 Requested action not taken: mailbox unavailable', 'mailbox_does_not_exist', GMX],
  ['550 gone', 'policy_block'],
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
  ['550 5.5.0 recipient is no longer available', 'mailbox_does_not_exist'],
  ['550 5.1.0 Adresse inconnue', 'mailbox_does_not_exist'],
  ['501 Bad recipient address syntax', 'mailbox_does_not_exist'],
  // Policy
  ['554 5.7.1 <user@example.com>: Recipient address rejected: User unknown', 'mailbox_does_not_exist'],
  ['554 Transaction failed', 'policy_block'],
  ['550 5.0.0 Rejected', 'policy_block'],
  ['550 SC-001 (BAY004-MC1F31) Unfortunately, messages from 192.0.2.1 were not sent.', 'policy_block', HOTMAIL],
  ['550 Rejected by header based manually Blocked Senders', 'policy_block', MIMECAST],
  ["553 sorry, that domain isn't allowed to be relayed thru this MTA", 'policy_block'],
  ['550 Too many invalid recipients', 'policy_block'],
  ['550 Access refused', 'policy_block'],
  ['550 invalid sender address', 'policy_block'],
  ['551 virus sender', 'policy_block'],
  // Temporary
  ['450 4.2.1 The user you are trying to contact is receiving mail too quickly.', 'temporary_failure', GOOGLE],
  ['450 5.1.1 a status of the wrong class', 'temporary_failure'],
  ['450 no such user', 'temporary_failure'],
]

const DATA_AND_DOT: Row[] = [
  ['552 5.2.2 This message is larger than the current system limit or the mailbox is full.', 'mailbox_full'],
  ['552 Requested mail action aborted', 'mailbox_full'],
  ['554 delivery error: dd Sorry, mailbox is full', 'mailbox_full', YAHOO],
  ['550 5.1.1 User unknown', 'mailbox_does_not_exist'],
  ['550 5.1.2 no such host', 'policy_block'],
  ['550 5.1.0 Address rejected', 'mailbox_does_not_exist'],
  ['554 5.2.1 Inactive user', 'mailbox_does_not_exist'],
  ['550 Requested action not taken: mailbox unavailable', 'mailbox_does_not_exist'],
  ['571 5.7.1 message classified as spam (Nachricht als Spam eingestuft)', 'spam_blocked'],
  [
    '552 5.2.0 This message has been rejected due to content judged to be spam by the internet community IB212',
    'spam_blocked',
    GODADDY,
  ],
  ['554 DT:SPM 163 mx1', 'spam_blocked', NETEASE],
  ['554 5.7.1 Service unavailable; Sender address [a@b.example] blocked using dbl.spamhaus.org', 'policy_block'],
  ['554 5.7.1 Client host [192.0.2.1] blocked using zen.spamhaus.org', 'policy_block'],
  ['550 5.7.1 User unknown', 'mailbox_does_not_exist'],
  ['552 Error: message too large', 'policy_block'],
  ['552 Message exceeds local size limit', 'policy_block'],
  ['554 rejected because of the DKIM signature', 'policy_block'],
  ['554 Too many connections', 'temporary_failure'],
  ['554 Transaction failed', 'policy_block'],
  ['550 no', 'policy_block'],
  ['553 no', 'policy_block'],
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
  expect(classify({ phase, reply: reply(line), mx }).outcome).toEqual(bounced(reason))
})

const LABELLED = REPLIES.flatMap(labelledReplies)

test.each(LABELLED.map((labelled) => [labelled.line || 'nothing', labelled] as const))(
  '"%s" is read as labelled',
  (_, labelled) => {
    const { phase, reply, mx, subject, reason, kind } = labelled
    const { outcome, reading } = classify({ phase, reply, mx, names: NAMES })
    expect(outcome).toEqual(bounced(reason))
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
      expect(classify({ phase, reply: { code, text: 'OK' }, mx: MX }).outcome).toEqual(bounced('temporary_failure'))
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
