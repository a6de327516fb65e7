import fc from 'fast-check'
import { expect, test } from 'vitest'
import { matchingFormOf } from '../../mail/address.ts'
import { readReport } from '../../server/inbound/report.ts'
import { anyCharacter } from '../harness/text.ts'
import * as bounces from './bounces.ts'
import * as complaints from './complaints.ts'
import { arf, crlf, dsn, multipart } from './report-forms.ts'

const read = (mail: string) => readReport(Buffer.from(mail))

const SHAPES: [string, string, object][] = [
  [
    'Postfix',
    bounces.POSTFIX,
    { reason: 'mailbox_does_not_exist', enhanced: '5.1.1', addresses: ['ann@example.net', 'ann@example.net'] },
  ],
  [
    'Postfix, of its own mailboxes',
    bounces.POSTFIX_LOCAL,
    { reason: 'mailbox_does_not_exist', detail: '5.1.1 unknown user: "ann"' },
  ],
  ['Postfix, of a content', bounces.POSTFIX_CONTENT, { reason: 'spam_blocked', enhanced: '5.7.1' }],
  ['Postfix, given up', bounces.POSTFIX_GIVEN_UP, { reason: 'mailbox_full', enhanced: '4.2.2' }],
  [
    'Exchange Online',
    bounces.EXCHANGE_ONLINE,
    { reason: 'mailbox_does_not_exist', enhanced: '5.1.10', addresses: ['ann@example.net'] },
  ],
  [
    'Gmail',
    bounces.GMAIL,
    {
      reason: 'mailbox_does_not_exist',
      detail:
        "550 5.1.1 The email account that you tried to reach does not exist. Please try double-checking the recipient's email address for typos or " +
        'unnecessary spaces. For more information, go to https://support.google.com/mail/?p=NoSuchUser a1-20020a1c7501000000b00 - gsmtp',
    },
  ],
  [
    'Sendmail',
    bounces.SENDMAIL,
    { reason: 'mailbox_does_not_exist', addresses: ['ann@example.net', 'ann@inside.example.net'] },
  ],
  ['Yahoo', bounces.YAHOO, { reason: 'mailbox_does_not_exist', enhanced: undefined }],
  [
    'Exim, without a route',
    bounces.EXIM_UNROUTEABLE,
    { reason: 'mailbox_does_not_exist', detail: 'Unrouteable address' },
  ],
]

test.each(SHAPES)('a bounce is read like a reply: %s', async (_, mail, failure) => {
  expect(await read(mail)).toEqual({ kind: 'bounce', failures: [expect.objectContaining(failure)] })
})

const UTF8 = '用户@例子.example'
const OF_UTF8 = { reason: 'mailbox_does_not_exist', enhanced: '5.1.1', addresses: [UTF8] }

test.each([
  ['letters as they are', `utf-8; ${UTF8}`],
  ['embedded characters', 'utf-8;\\x{7528}\\x{6237}@\\x{4F8B}\\x{5B50}.example'],
  ['the old type', `rfc822; <${UTF8}>`],
])('a report about an address with letters beyond ASCII is read (RFC 6533): %s', async (_, recipient) => {
  const status = `Reporting-MTA: dns; mx.example.net

Final-Recipient: ${recipient}
Action: failed
Status: 5.1.1
Diagnostic-Code: smtp; 550 5.1.1 <${UTF8}> unknown user
`
  const original = `Subject: hello\nTo: ${UTF8}\n`
  for (const encoding of ['8bit', 'base64']) {
    const encoded = (text: string) => (encoding === 'base64' ? Buffer.from(text).toString('base64') : text)
    const mail = multipart('multipart/report; report-type=global-delivery-status', [
      { type: 'text/plain; charset=utf-8', content: encoded(`${UTF8} is unknown`), encoding },
      { type: 'message/global-delivery-status', content: encoded(crlf(status)), encoding },
      { type: 'message/global-headers', content: encoded(original), encoding },
    ])
    expect(await read(mail)).toEqual({ kind: 'bounce', failures: [expect.objectContaining(OF_UTF8)] })
  }
})

test.each(['\\x{D800}', '\\x{110000}', '\\x{0}', '\\x{zz}', '\\x{}'])(
  'a report cannot name an address with %s',
  async (letter) => {
    const fields = [`Final-Recipient: utf-8; ann${letter}@example.net\nAction: failed\nStatus: 5.1.1`]
    const report = await read(dsn({ fields }))
    const { addresses } = (report as { failures: { addresses: string[] }[] }).failures[0]!
    expect(addresses.map(matchingFormOf)).toEqual([undefined])
  },
)

test('Exim names the recipients in a field, and the text has the reason under each', async () => {
  const failures = [
    {
      addresses: ['ann@example.net'],
      reason: 'mailbox_does_not_exist',
      detail: '550 5.1.1 <ann@example.net>: Recipient address rejected: User unknown',
    },
    {
      addresses: ['bob@example.net'],
      reason: 'spam_blocked',
      detail: '554 5.7.1 This message looks like spam',
    },
  ]
  expect(await read(bounces.EXIM)).toMatchObject({ kind: 'bounce', failures })
})

test('qmail writes a paragraph for each recipient', async () => {
  const failures = [
    { addresses: ['ann@example.net'], reason: 'mailbox_does_not_exist', enhanced: '5.1.1' },
    {
      addresses: ['bob@example.net'],
      reason: 'mailbox_does_not_exist',
      detail: 'Sorry, no mailbox here by that name. (#5.1.1)',
    },
    { addresses: ['cy@example.net'], reason: 'mailbox_full', enhanced: '5.2.2' },
  ]
  expect(await read(bounces.QMAIL)).toMatchObject({ kind: 'bounce', failures })
})

/** A notice without a status part, with a copy of the message. */
const notice = (subject: string, text: string, message = 'Subject: Your order\n\nHi Ann\n') =>
  crlf(
    `From: Mail Delivery System <postmaster@mx.example.net>\nSubject: ${subject}\nContent-Type: text/plain; charset=utf-8\n\n${text}\n------ This is a copy of the message ------\n${message}`,
  )

test.each([
  'Please confirm your address',
  'Your parcel is delayed',
  'Your parcel was successfully delivered',
  'Your holiday in Rome',
  'Ihr Urlaub',
])('what a message says does not decide what its bounce is: "%s"', async (subject) => {
  const text = `Your message could not be delivered.\n\n  Subject: ${subject}\n\nann@example.net\n  550 5.1.1 User unknown\n`
  const message = `Subject: ${subject}\n\nNo action is required: it was successfully delivered, or is delayed.\n`
  const failures = [expect.objectContaining({ reason: 'mailbox_does_not_exist', addresses: ['ann@example.net'] })]
  expect(await read(notice(`Undeliverable: ${subject}`, text, message))).toEqual({ kind: 'bounce', failures })
})

test.each(["o'brien@example.net", 'ann+news@example.net', 'ann/x@example.net'])(
  'a notice names %s',
  async (address) => {
    for (const shown of [`<${address}>`, `'${address}'`, `"${address}"`, `(${address})`, `mailto:${address}`]) {
      const report = await read(
        notice('Undeliverable', `This could not be delivered to:\n\n${shown}\n  550 User unknown`),
      )
      expect(report).toMatchObject({ failures: [{ addresses: [address], reason: 'mailbox_does_not_exist' }] })
    }
  },
)

test('a subject in encoded words has the marks of a mail system', async () => {
  const subject = `=?UTF-8?B?${Buffer.from('Unzustellbar: Ihre Bestellung für Ann').toString('base64')}?=`
  const report = await read(notice(subject, 'Leider ging es nicht.\n\n<ann@example.net>: 550 Benutzer unbekannt\n'))
  expect(report).toMatchObject({ failures: [{ reason: 'mailbox_does_not_exist' }] })
})

test('the text is read where the status part names no recipient', async () => {
  const text = 'Your message could not be delivered to:\n\n  ann@example.net\n  552 5.2.2 The mailbox is full'
  expect(await read(dsn({ notice: text, fields: [] }))).toMatchObject({ failures: [{ reason: 'mailbox_full' }] })
  expect(await read(dsn({ fields: [] }))).toEqual({ kind: 'unread' })
})

test('the comment after a status tells the reason where no diagnostic does', async () => {
  const fields = [
    'Original-Recipient: rfc822;ann@example.net\nAction: failed\nStatus: 5.0.0 (recipient over disk quota)',
  ]
  expect(await read(dsn({ fields }))).toMatchObject({ failures: [{ reason: 'mailbox_full' }] })
})

test('fields of the message that a notice shows are no reason', async () => {
  const header = 'Message-id: <1@example.test>\n  Date: Sat, 21 Nov 2026 10:00:00 +0000\n  Subject: Spam and quotas'
  const text = `This report relates to a message you sent with the following header fields:\n\n  ${header}\n\nYour message cannot be delivered to the following recipients:\n\n  Recipient address: ann@inside.example.net\n  Original address: ann@example.net\n  Reason: unknown user\n`
  const fields = [
    'Original-Recipient: rfc822;ann@example.net\nFinal-Recipient: rfc822;ann@inside.example.net\nAction: failed\nStatus: 5.0.0',
  ]
  expect(await read(dsn({ notice: text, fields }))).toMatchObject({ failures: [{ reason: 'mailbox_does_not_exist' }] })
})

test('the command that a reply answers is no word about the recipient', async () => {
  const reply = '550 Go away (in reply to RCPT TO command)'
  const fields = [
    'Final-Recipient: rfc822; ann@example.net\nAction: failed\nStatus: 5.0.0\nDiagnostic-Code: smtp; 550 Go away',
  ]
  const report = await read(dsn({ notice: `<ann@example.net>: host mx.example.net[192.0.2.7] said: ${reply}`, fields }))
  expect(report).toMatchObject({ failures: [{ reason: 'policy_block', readAs: 'sender (not understood)' }] })
})

test('the replies to later commands do not belong to the reply that refused the recipient', async () => {
  const text = `----- The following addresses had permanent fatal errors -----\n<ann@example.net>\n    (reason: 550 5.1.1 User unknown)\n\n----- Transcript of session follows -----\n... while talking to mx.example.net.:\n>>> DATA\n<<< 550 5.1.1 User unknown\n<<< 503 5.5.2 Need Rcpt command.\n`
  const report = await read(notice('Returned mail: see transcript for details', text))
  expect(report).toMatchObject({ failures: [{ reason: 'mailbox_does_not_exist', readAs: 'mailbox (unknown)' }] })
})

const field = (diagnostic: string, status = '5.0.0') =>
  dsn({
    fields: [
      `Final-Recipient: rfc822; ann@example.net\nAction: failed\nStatus: ${status}\nDiagnostic-Code: ${diagnostic}`,
    ],
  })

test.each([
  ['smtp; 550 Sorry', '5.0.0', 'policy_block'],
  ['smtp; 550 blocked by our policy', '5.0.0', 'policy_block'],
  ['smtp; 550 5.2.1 Account disabled', '5.2.1', 'mailbox_does_not_exist'],
  ['smtp; 550 5.7.1 Not wanted', '5.7.1', 'policy_block'],
  ['smtp; 552 5.2.2 Over quota', '5.2.2', 'mailbox_full'],
  ['x-local; the user ran out of words', '5.0.0', undefined],
  ['smtp; 550', '5.0.0', undefined],
  ['x-local; gave up after 5 days', '4.4.7', 'connection_timeout'],
  ['X-Postfix; host mx.example.net[192.0.2.7] said: 550 5.1.1 unknown user', '5.1.1', 'mailbox_does_not_exist'],
  // A status of another class than the reply's is ignored.
  ['smtp; 450 later', '5.1.1', 'temporary_failure'],
])('the diagnostic code decides by the rules for replies: %s (%s) is %s', async (diagnostic, status, reason) => {
  const report = await read(field(diagnostic, status))
  expect(report?.kind === 'bounce' && report.failures[0]!.reason).toBe(reason)
})

test.each([
  ['To: bob+0123456789abcdefghij@example.net', undefined, 'an address that is no return path'],
  ['To: ann@example.net', 'b+01kctznv0zf3kanvqtfn6xkbd4000123456789abcdef@mx.rp.example.net', 'another host'],
])('of a message "%s" to %s the domain is no name for us: it is %s', async (original, returnPath, _) => {
  const diagnostic = 'Status: 5.1.2\nDiagnostic-Code: smtp; 550 5.1.2 example.net does not exist'
  const fields = [`Final-Recipient: rfc822; ann@example.org\nAction: failed\n${diagnostic}`]
  const report = await readReport(Buffer.from(dsn({ fields, original: `${original}\n\nHi\n` })), {
    hasNullSender: true,
    returnPath,
  })
  expect(report).not.toMatchObject({ failures: [{ readAs: 'sender (our name)' }] })
})

test('the sending domain is a name for us in a report too', async () => {
  const report = await read(field('smtp; 550 5.1.2 example.test does not exist', '5.1.2'))
  expect(report).toMatchObject({ failures: [{ reason: 'policy_block', readAs: 'sender (our name)' }] })
})

test.each([
  ['rfc822; Ann <ann@example.net>', 'dns; example-net.mail.protection.outlook.com'],
  ['rfc822;<ann@example.net>', 'dns; example-net.mail.protection.outlook.com. (192.0.2.7, the server for the domain.)'],
  ['rfc822; ann@example.net (Ann)', 'DNS;example-net.mail.protection.outlook.com.'],
])('names are read without what is around them: %s, %s', async (recipient, remote) => {
  const reply = '550 5.4.1 Recipient address rejected: Access denied'
  const fields = [
    `Final-Recipient: ${recipient}\nAction: failed\nStatus: 5.4.1\nRemote-MTA: ${remote}\nDiagnostic-Code: smtp; ${reply}`,
  ]
  expect(await read(dsn({ fields }))).toMatchObject({
    failures: [{ addresses: ['ann@example.net'], readAs: 'mailbox (not in the directory)' }],
  })
})

test('a notification about several recipients reports each of them', async () => {
  const of = (name: string, action: string, status: string) =>
    `Final-Recipient: rfc822; ${name}@example.net\nAction: ${action}\nStatus: ${status}\nDiagnostic-Code: smtp; ${status[0]}50 ${status} words`
  const fields = [
    of('ann', 'failed', '5.1.1'),
    of('bob', 'delayed', '4.2.2'),
    of('cy', 'FAILED', '5.2.2'),
    of('dee', 'delivered', '2.1.5'),
  ]
  expect(await read(dsn({ fields }))).toMatchObject({
    failures: [
      { addresses: ['ann@example.net'], reason: 'mailbox_does_not_exist' },
      { addresses: ['cy@example.net'], reason: 'mailbox_full' },
    ],
  })
})

const NO_REPORT = 'it reports neither a failure nor a complaint'
const NO_FAILURE = 'its status part names no failure'
const NO_SYSTEM = 'no mail system wrote it, and it quotes no reply together with our return path'

test.each([
  ['a delay', bounces.POSTFIX_DELAYED, NO_FAILURE],
  ['a message that was passed on', bounces.POSTFIX_DELIVERED, NO_FAILURE],
  ['an out-of-office reply', bounces.OUT_OF_OFFICE, NO_SYSTEM],
  [
    'a report that a message is no spam',
    arf({ type: 'not-spam', fields: 'Original-Rcpt-To: ann@example.net\n' }),
    NO_REPORT,
  ],
  ['a report of a virus', arf({ type: 'Virus', fields: 'Original-Rcpt-To: rfc822; ann@example.net\n' }), NO_REPORT],
  ['a report of failed authentication', arf({ type: 'auth-failure' }), NO_REPORT],
  ['nothing', '', NO_SYSTEM],
  ['noise', crlf('\u0000\u0001\nContent-Type: multipart/report; boundary=\n\n--\n--\n'), NO_SYSTEM],
])('mail that is neither a bounce nor a complaint: %s', async (_, mail, why) => {
  expect(await read(mail)).toEqual({ kind: 'none', why })
})

const FEEDBACK = 'message/feedback-report'
const DISPOSITION = 'message/disposition-notification'

test.each([
  ['multipart/report; report-type=disposition-notification', 'text/plain'],
  ['multipart/report; Report-Type = "feedback-report"', 'text/plain'],
  ['multipart/mixed', DISPOSITION],
  ['multipart/mixed', FEEDBACK],
])('a mail of type %s with a part of type %s is another report, whatever its words', async (type, part) => {
  const parts = [
    { type: 'text/plain', content: '<ann@example.net>: 550 5.1.1 User unknown' },
    { type: part, content: 'Feedback-Type: other' },
  ]
  expect(await read(multipart(type, parts))).toEqual({ kind: 'none', why: NO_REPORT })
})

test.each([
  ['Yahoo', complaints.YAHOO_COMPLAINT, 'abuse'],
  ['Comcast', complaints.COMCAST_COMPLAINT, 'abuse'],
  ['Microsoft', complaints.MICROSOFT_COMPLAINT, 'abuse'],
  ['fraud', arf({ type: 'fraud', fields: 'Original-Rcpt-To: ann@example.net\n' }), 'fraud'],
  ['opt-out', arf({ type: 'opt-out', fields: 'Removal-Recipient: <ann@example.net>\n' }), 'opt-out'],
])('a complaint is read: %s', async (_, mail, type) => {
  const report = await read(mail)
  expect(report).toMatchObject({ kind: 'complaint', type })
  expect(new Set((report as { addresses: string[] }).addresses)).toEqual(new Set(['ann@example.net']))
})

test('a complaint that hides its recipient names none: the message itself names all recipients', async () => {
  expect(await read(arf({ fields: 'Original-Rcpt-To: redacted\n' }))).toEqual({
    kind: 'complaint',
    type: 'abuse',
    addresses: ['redacted'],
  })
})

test('a status in base64, in a strange charset or with bare line feeds is readable', async () => {
  const status = 'Reporting-MTA: dns; x\n\nFinal-Recipient: rfc822; ann@example.net\nAction: failed\nStatus: 5.1.1\n'
  const mail = multipart('multipart/report', [
    { type: 'text/plain; charset=x-unknown', content: '\u00e9\u00ff' },
    {
      type: 'message/delivery-status; charset=utf-7',
      encoding: 'base64',
      content: Buffer.from(status).toString('base64'),
    },
  ]).replace(/\r/g, '')
  expect(await readReport(Buffer.from(mail, 'latin1'))).toMatchObject({
    failures: [{ reason: 'mailbox_does_not_exist' }],
  })
})

test('any bytes are a report or none, and every report can be stored', async () => {
  const words = [
    '\n',
    '\r\n',
    ' ',
    'Action: failed',
    'Final-Recipient: rfc822;',
    'a@b.example',
    'Status: 5.1.1',
    '550',
    '--b',
    '\u0000',
  ]
  const piece = fc.oneof(fc.constantFrom(...words), fc.string({ unit: anyCharacter }))
  await fc.assert(
    fc.asyncProperty(fc.array(piece), async (pieces) => {
      const report = await read(
        `Content-Type: multipart/report; boundary=b\n\n--b\nContent-Type: message/delivery-status\n\n${pieces.join('')}\n--b--\n`,
      )
      for (const failure of report?.kind === 'bounce' ? report.failures : []) {
        expect(failure.detail).not.toMatch(/[\u0000-\u001f]/)
        expect(failure.detail.isWellFormed()).toBe(true)
        expect(failure.detail.length).toBeLessThan(1_100)
      }
    }),
  )
})
