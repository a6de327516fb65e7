import { expect, test } from 'vitest'
import { diagnose } from '../../server/inbound/diagnosis.ts'
import { readReport } from '../../server/inbound/report.ts'
import { arf, dsn, RETURNED } from './report-forms.ts'

const of = (lines: string[], status = '', more: { mx?: string; ours?: string[] } = {}) =>
  diagnose({ recipient: 'ann@example.net', status, lines, mx: '', ours: [], ...more })

test.each([
  ['550 5.1.1 User unknown', 550, 'User unknown'],
  ['mx.example.net: 550 User unknown', 550, 'User unknown'],
  ['mx.example.net[192.0.2.1] said: 450 4.2.0 Greylisted', 450, 'Greylisted'],
  ['[192.0.2.1] 554 refused', 554, 'refused'],
  ['<550 User unknown', 550, 'User unknown'],
  ["Remote Server returned '550 User unknown", 550, 'User unknown'],
  ['"550 User unknown', 550, 'User unknown'],
  ['(550 User unknown', 550, 'User unknown'],
  ['#550 User unknown', 550, 'User unknown'],
  ['# 550 User unknown', 550, 'User unknown'],
  ['error 550 User unknown', 550, 'User unknown'],
  ['the reason: 550: User unknown', 550, 'User unknown'],
  ['the server returned 550 User unknown', 550, 'User unknown'],
  ['the problem 571 refused', 571, 'refused'],
  ['code 550', 550, ''],
  ["550 'User unknown'", 550, "User unknown'"],
  ['550-User unknown', 550, 'User unknown'],
  ['550 192.0.2.1 is blocked', 550, '192.0.2.1 is blocked'],
  ['550 2 users unknown', 550, '2 users unknown'],
  ["550 'User unknown, or 551: moved", 550, 'User unknown, or 551: moved'],
  ['550 User unknown, or 551: moved', 550, 'User unknown, or 551: moved'],
])('the reply in "%s" is quoted', (line, code, reply) => {
  expect(of([line])).toMatchObject({ code, reply })
})

test.each([
  'It weighs 550 grams',
  'Order 5501 User unknown',
  'at 450',
  '550.5 User unknown',
  'User unknown, 560 of them',
  '(5500) User unknown',
  '550 17',
  'user550 User unknown',
  'Barcode 550 User unknown',
])('"%s" quotes no reply', (line) => {
  expect(of([line]).code).toBeUndefined()
})

test('a reply goes on in the next lines, up to an empty line or another reply', () => {
  const reply = (lines: string[]) => of(lines).reply
  expect(reply(['550 5.1.1 User', 'unknown', '', 'Thank you'])).toBe('User unknown')
  expect(reply(['550 5.1.1 User', 'unknown', '554 Goodbye'])).toBe('User unknown')
  expect(reply(['550 5.1.1 User unknown', '', 'Thank you'])).toBe('User unknown')
  expect(reply(['550-5.1.1 User', '550 5.1.1 unknown'])).toBe('User unknown')
  expect(reply(['550-5.1.1 User 550 5.1.1 unknown'])).toBe('User unknown')
  expect(reply(['', 'It said:', '550 5.1.1 User', '5500 unknown', '450'])).toBe('User 5500 unknown 450')
})

test.each([
  ['550 User unknown', '5.7.1', undefined, 'the status of the reporter is none of the reply'],
  ['550 5.1.1 User unknown', '5.7.1', '5.1.1', 'the reply has its own'],
  ['550 5.0.0 User unknown', '5.1.1', undefined, 'a vague one says nothing'],
  ['User unknown', '5.1.1', '5.1.1', 'without a reply, the status of the reporter counts'],
  ['User unknown', '5.0.0', undefined, 'but no vague one'],
  ['User unknown (#5.1.1)', '', '5.1.1', 'and then one in its words'],
  ['User unknown (#5.1.1)', '5.2.1', '5.2.1', 'which counts less'],
  ['see chapter 5.1.1 of it', '', undefined, 'a number elsewhere is none'],
  ['(5.1.1.7) User unknown', '', undefined, 'nor is a longer one'],
  ['(5.1.1234) User unknown', '', undefined, 'in its last digits either'],
])('of "%s" with the status "%s" the status is %s: %s', (line, status, enhanced, _) => {
  expect(of([line], status).enhanced).toBe(enhanced)
})

test.each([
  [['550 5.1.1 User unknown'], '', '550 5.1.1 User unknown'],
  [['User unknown'], '5.1.1', '5.1.1 User unknown'],
  [['User unknown (#5.1.1)'], '', 'User unknown (#5.1.1)'],
  [['User unknown'], '', 'User unknown'],
  [[], '5.1.1', '5.1.1'],
  [[], '', ''],
])('the detail of %j with the status "%s" is "%s"', (lines, status, detail) => {
  expect(of(lines, status).detail).toBe(detail)
})

test.each([
  ['User unknown', '5.1.1', 'refused', 'mailbox (unknown, says the reporter)'],
  ['', '5.1.1', 'status', 'mailbox (unknown by its status)'],
  ['550 5.1.1 User unknown', '', 'unknown', 'mailbox (unknown)'],
])('"%s" with the status "%s" is %s: %s', (line, status, kind, readAs) => {
  expect(of([line], status)).toMatchObject({ kind, readAs, reason: 'mailbox_does_not_exist' })
})

test.each([
  ['It did not work', '', undefined, 'nothing is said'],
  ['It did not work', '4.0.0', undefined, 'nothing is said'],
  ['550', '', undefined, 'a code is no evidence without words'],
  ['550 Sorry', '', 'policy_block', 'a refusal is'],
  ['452 4.2.2 full', '', 'mailbox_full', 'a reply of 4xx is read as such'],
  ['Too long in the queue', '4.4.7', 'connection_timeout', 'the sending server gave up'],
  ['User unknown', '4.1.1', 'temporary_failure', 'a reporter without a reply may try again, too'],
  ['Timed out after the initial connection', '', 'connection_timeout', 'no server refused the sender'],
])('the reason of "%s" with the status "%s" is %s: %s', (line, status, reason, _) => {
  expect(of([line], status).reason).toBe(reason)
})

test.each([
  'in reply to MAIL FROM command',
  'in response to EHLO',
  'after initial connection',
  'following HELO',
  'responding to the STARTTLS',
])('a reply %s is about the sender, wherever its lines are folded', (when) => {
  const reply = `mx.example.net said: 550 5.1.1 unknown user (${when})`
  expect(of([reply])).toMatchObject({ reason: 'policy_block' })
  const words = reply.split(' ')
  for (const at of words.keys())
    expect(of([words.slice(0, at).join(' '), words.slice(at).join(' ')])).toMatchObject({ reason: 'policy_block' })
})

test.each(['in reply to RCPT TO command', 'hereafter LHLO', 'after connecting to the mailbox'])(
  'a reply %s is about the recipient',
  (when) => {
    const reply = `mx.example.net said: 550 5.1.1 unknown user (${when})`
    expect(of([reply])).toMatchObject({ reason: 'mailbox_does_not_exist' })
  },
)

test('our names and the exchanger are those of the report', () => {
  const line = '550 5.1.1 <b@rp.example.test>: User unknown'
  expect(of([line])).toMatchObject({ reason: 'mailbox_does_not_exist' })
  expect(of([line], '', { ours: ['b@rp.example.test'] })).toMatchObject({ reason: 'policy_block' })
  const blocked = '550 5.4.1 Recipient address rejected: Access denied'
  expect(of([blocked], '', { mx: 'x.mail.protection.outlook.com' }).kind).toBe('refused')
  expect(of([blocked]).kind).toBeUndefined()
})

/** What a delivery status with these fields of a recipient says. */
async function status(fields: string, notice?: string) {
  const report = await readReport(Buffer.from(dsn({ fields: [`Action: failed\n${fields}`], notice })))
  if (report.kind !== 'bounce') return report
  const [{ reason, readAs, addresses, failedAddress, detail } = { addresses: [] }] = report.failures
  return { reason, readAs, addresses, failedAddress, detail }
}
const ANN = 'Final-Recipient: rfc822; ann@example.net\n'
const OVER = 'X-Supplementary-Info: <mx.example.net #5.2.2 smtp; 552 5.2.2 mailbox full>\n'

test.each([
  ['5.0.0', OVER, 'mailbox_full', '552 5.2.2 mailbox full'],
  ['5.0.0', OVER.replace('>', ''), 'mailbox_full', '552 5.2.2 mailbox full'],
  ['5.0.0', `Diagnostic-Code: smtp; 550 5.7.1 blocked\n${OVER}`, 'policy_block', '550 5.7.1 blocked'],
  ['5.0.0', OVER.replace('<mx', 'x <mx'), undefined, ''],
  ['5.0.0', OVER.replace('>', '> and more'), 'mailbox_full', '552 5.2.2 mailbox full> and more'],
  ['5.1.1 (User unknown)', '', 'mailbox_does_not_exist', '5.1.1 User unknown'],
  ['5.1.1 (mailbox full)', 'Diagnostic-Code: smtp; 550 5.7.1 blocked\n', 'policy_block', '550 5.7.1 blocked'],
  ['5.2.2 x (User unknown)', '', 'mailbox_full', '5.2.2'],
  ['5.2.2 (User unknown) x', '', 'mailbox_full', '5.2.2'],
  ['about 5.2.2 (User unknown)', '', 'mailbox_full', '5.2.2'],
  ['15.2.2', '', undefined, ''],
  ['5.2.2345', '', undefined, ''],
])('of the status "%s" with "%s" the reason is %s', async (value, fields, reason, detail) => {
  expect(await status(`${ANN}Status: ${value}\n${fields}`)).toMatchObject({ reason, detail })
})

test.each([
  ['Original-Recipient: rfc822; a@example.net\n', ['a@example.net', 'ann@example.net'], 'ann@example.net'],
  ['X-Actual-Recipient: rfc822; b@example.org\n', ['ann@example.net'], 'b@example.org'],
  ['X-Actual-Recipient: X-Unix; |/bin/filter\n', ['ann@example.net'], '|/bin/filter'],
  ['X-Actual-Recipient: b@example.org\n', ['ann@example.net'], 'b@example.org'],
  ['X-Actual-Recipient: X-Unix; b@example.org\n', ['ann@example.net'], 'b@example.org'],
])('the addresses of a recipient with %j are %j, and %s failed', async (fields, addresses, failedAddress) => {
  expect(await status(`${ANN}Status: 5.1.1\n${fields}`)).toMatchObject({ addresses, failedAddress })
})

test('a group of fields is about a recipient when it has an action and a recipient or a status', async () => {
  expect(await status('Status: 5.2.2\n')).toMatchObject({ reason: 'mailbox_full', addresses: [] })
  for (const name of ['Final-Recipient', 'Original-Recipient']) {
    const full = 'Diagnostic-Code: smtp; 552 5.2.2 mailbox full\n'
    expect(await status(`${name}: rfc822; ann@example.net\n${full}`)).toMatchObject({ reason: 'mailbox_full' })
  }
  expect(await status('X-Other: 5.2.2\n')).toEqual({ kind: 'unread' })
  const error = await readReport(Buffer.from(dsn({ fields: [`Action: error\n${ANN}Status: 5.1.1`] })))
  expect(error).toMatchObject({ kind: 'bounce' })
  const unsaid = await readReport(Buffer.from(dsn({ fields: [`${ANN}Status: 5.1.1`], notice: 'Sorry' })))
  expect(unsaid).toMatchObject({ kind: 'unread' })
  const late = await readReport(Buffer.from(dsn({ fields: [`Action: delayed, not failed\n${ANN}Status: 4.4.1`] })))
  expect(late).toMatchObject({ kind: 'none', why: 'its status part names no failure' })
})

test.each(['message/delivery-status', 'message/global-delivery-status'])(
  'what a part of type %s says goes before the same fields elsewhere',
  async (type) => {
    const notice = 'Final-Recipient: rfc822; bob@example.net\nAction: failed\nStatus: 5.2.2'
    const mail = dsn({ notice, fields: [`Action: failed\n${ANN}Status: 5.1.1`] })
    expect(await readReport(Buffer.from(mail.replace('message/delivery-status', type)))).toMatchObject({
      failures: [{ addresses: ['ann@example.net'], reason: 'mailbox_does_not_exist' }],
    })
  },
)

test('where the fields say little, the text for people is read; where they say more, it is not', async () => {
  const notice = '<ann@example.net>: 552 5.2.2 mailbox full'
  expect(await status(`${ANN}Status: 5.0.0\n`, notice)).toMatchObject({ reason: 'mailbox_full' })
  expect(await status(`${ANN}Status: 5.0.0\nDiagnostic-Code: smtp; 550 Sorry\n`, notice)).toMatchObject({
    reason: 'mailbox_full',
  })
  expect(await status(`${ANN}Status: 5.0.0\nDiagnostic-Code: smtp; 550 Sorry\n`, 'It did not work.')).toMatchObject({
    reason: 'policy_block',
    detail: '550 Sorry',
  })
  expect(await status(`${ANN}Status: 5.1.1\nDiagnostic-Code: smtp; 550 5.1.1 no such user\n`, notice)).toMatchObject({
    reason: 'mailbox_does_not_exist',
  })
  // It is the text of the only recipient, with and without the address, and whatever it says of our message.
  expect(await status(`${ANN}Status: 5.0.0\n`, 'Sorry: 552 5.2.2 mailbox full')).toMatchObject({
    reason: 'mailbox_full',
  })
  const path = /<(b\+.*)>/.exec(RETURNED)![1]
  const aboutUs = `<ann@example.net>\na message from ${path}\n552 5.2.2 mailbox full`
  expect(await status(`${ANN}Status: 5.0.0\n`, aboutUs)).toMatchObject({ reason: 'mailbox_full' })
  // A reply that is not understood stays, and is better than none.
  const goodbye = '<ann@example.net>: 554 Goodbye'
  expect(await status(`${ANN}Status: 5.0.0\n`, goodbye)).toMatchObject({ detail: '554 Goodbye' })
  expect(await status(`${ANN}Status: 5.0.0\nDiagnostic-Code: smtp; 550 Sorry\n`, goodbye)).toMatchObject({
    detail: '550 Sorry',
  })
  // The text is about another recipient.
  const other = 'Sorry.\n<bob@example.net>: 552 5.2.2 mailbox full'
  const fields = [`${ANN}Action: failed\nStatus: 5.0.0`, `${ANN.replace('ann', 'cy')}Action: failed\nStatus: 5.0.0`]
  const report = await readReport(Buffer.from(dsn({ fields, notice: other })))
  expect(report.kind === 'bounce' && report.failures.map(({ reason }) => reason)).toEqual([undefined, undefined])
})

test('the status of the fields goes with the text, unless it is that of a reply', async () => {
  const notice = '<ann@example.net>: User unknown'
  expect(await status(`${ANN}Status: 4.0.0\n`, notice)).toMatchObject({ reason: 'temporary_failure' })
  const refused = 'Diagnostic-Code: smtp; 450\n'
  expect(await status(`${ANN}Status: 4.0.0\n${refused}`, notice)).toMatchObject({
    reason: 'mailbox_does_not_exist',
    detail: '<ann@example.net>: User unknown',
  })
})

test.each(['abuse', 'fraud', 'opt-out', 'opt-out-list', 'ABUSE'])('%s is a complaint', async (type) => {
  const mail = arf({ type, fields: 'Removal-Recipient: b@example.net\nOriginal-Rcpt-To: a@example.net\n' })
  expect(await readReport(Buffer.from(mail))).toEqual({
    kind: 'complaint',
    type: type.toLowerCase(),
    addresses: ['a@example.net', 'b@example.net'],
  })
})

test.each(['not-spam', 'auth-failure', 'virus', 'other', ''])('"%s" is none', async (type) => {
  expect(await readReport(Buffer.from(arf({ type })))).toMatchObject({ kind: 'none' })
})

test.each(['message/rfc822', 'text/rfc822-headers', 'message/global', 'message/global-headers'])(
  'the recipient of a complaint is found in an original of type %s',
  async (originalType) => {
    const original = 'X-HmXmrOriginalRecipient: ann@example.net\nTo: all@example.net\n\nHi\n'
    expect(await readReport(Buffer.from(arf({ original, originalType })))).toMatchObject({
      addresses: ['ann@example.net'],
    })
  },
)
