import { expect, test } from 'vitest'
import { kindAgainst } from '../../server/inbound/member.ts'
import { noticeOf, passagesOf } from '../../server/inbound/notice.ts'
import { readReport } from '../../server/inbound/report.ts'

/** The failures in a notice of a mail system. */
async function failures(text: string, header = '') {
  const mail = `From: MAILER-DAEMON@mx.example.net\nSubject: failure notice\n${header}\n${text}`
  const report = await readReport(Buffer.from(mail))
  return report.kind === 'bounce' ? report.failures : report
}

test.each([
  ['Sorry.\n\n----- Original message -----\nSubject: x', ['Sorry.', '']],
  ['Sorry.\n--- Below this line is a copy of the message.\nx', ['Sorry.']],
  ['----- Original message -----\nSorry.', ['----- Original message -----', 'Sorry.']],
  ['Sorry.\nSubject: 550 User unknown\nBetreff : x\nThe subject: stays', ['Sorry.', 'The subject: stays']],
  ['  * ann@example.net\n- b\n>>> c\n<<< 550 no', ['ann@example.net', 'b', 'c', '550 no']],
  ['Sorry.\nReceived: from x\nmore', ['Sorry.']],
  ['Sorry.\nIt was received: yesterday', ['Sorry.', 'It was received: yesterday']],
  [
    'Sorry.\nThe following header fields:\n\nFrom: a\nTo: b\n\nGoodbye',
    ['Sorry.', 'The following header fields:', '', 'Goodbye'],
  ],
  [
    'Sorry.\nThe following header fields: see below\nFrom: a\n\nGoodbye',
    ['Sorry.', 'The following header fields: see below', 'From: a', '', 'Goodbye'],
  ],
  [
    'Sorry.\nThe following header fields:\n\n \n\nFrom: a\n\nGoodbye',
    ['Sorry.', 'The following header fields:', '', 'Goodbye'],
  ],
  ['Sorry.\nThe following header fields:\nFrom: a', ['Sorry.', 'The following header fields:', 'From: a']],
])('of the notice %j the lines %j are read', (text, lines) => {
  expect(noticeOf(text)).toEqual(lines)
})

test('a passage begins with an address that is not ours, and ends at the next one', () => {
  const notice = [
    'Hi b@rp.example.test',
    'Ann@Example.net',
    'unknown',
    'bob@example.net: full',
    'ann@example.net',
    'again',
  ]
  expect(passagesOf(notice, (address) => address === 'b@rp.example.test')).toEqual([
    { address: 'ann@example.net', lines: ['Ann@Example.net', 'unknown', 'ann@example.net', 'again'] },
    { address: 'bob@example.net', lines: ['bob@example.net: full'] },
  ])
})

test('a notice of many addresses has a passage for the first hundred', () => {
  const addresses = Array.from({ length: 102 }, (_, i) => `user${i}@example.net`)
  const passages = passagesOf(addresses, () => false)
  expect(passages.map(({ address }) => address)).toEqual(addresses.slice(0, 100))
})

test.each([
  ['<ann@example.net>:\n550 5.1.1 User unknown', [['ann@example.net', 'mailbox_does_not_exist', 'unknown']]],
  [
    '<ann@example.net>: 550 5.1.1 User unknown\n\n<bob@example.net>: 552 5.2.2 mailbox full',
    [
      ['ann@example.net', 'mailbox_does_not_exist', 'unknown'],
      ['bob@example.net', 'mailbox_full', 'full'],
    ],
  ],
  // The reason of them all comes before the addresses, or after them.
  [
    '550 5.1.1 User unknown\n\nann@example.net\nbob@example.net',
    [
      ['ann@example.net', 'mailbox_does_not_exist', 'unknown'],
      ['bob@example.net', 'mailbox_does_not_exist', 'unknown'],
    ],
  ],
  ['The mailbox is full.\n\nann@example.net', [['ann@example.net', 'mailbox_full', 'full']]],
  ['The user is unknown.\n\nann@example.net', [['ann@example.net', 'mailbox_does_not_exist', 'refused']]],
  // Words that are not beyond doubt say nothing of an address elsewhere.
  ['The server could not be reached.\n\nann@example.net', { kind: 'unread' }],
  ['550 5.1.1 User unknown', [[undefined, 'mailbox_does_not_exist', 'unknown']]],
  ['Something happened.', { kind: 'unread' }],
  // A heading says less than the reply, and words count least where they are weakest.
  [
    '<ann@example.net>:\nAddress not found\n\nThe server said: 450 4.2.0 Greylisted',
    [['ann@example.net', 'temporary_failure', undefined]],
  ],
  [
    '<ann@example.net>:\nAddress not found\n\nThe connection timed out.',
    [['ann@example.net', 'connection_timeout', undefined]],
  ],
  [
    '<ann@example.net>:\nhost x.mail.protection.outlook.com [192.0.2.1] said:\n550 5.4.1 Recipient address rejected: Access denied',
    [['ann@example.net', 'mailbox_does_not_exist', 'refused']],
  ],
  [
    '<ann@example.net>:\nhost\nx.mail.protection.outlook.com [192.0.2.1] said:\n550 5.4.1 Recipient address rejected: Access denied',
    [['ann@example.net', 'mailbox_does_not_exist', 'refused']],
  ],
  [
    '<ann@example.net>:\nlocalhost x.mail.protection.outlook.com [192.0.2.1] said:\n550 5.4.1 Recipient address rejected: Access denied',
    [['ann@example.net', 'policy_block', undefined]],
  ],
  // A reply decides, even where the words before it count less.
  [
    '<ann@example.net>:\nThe connection timed out.\n\nThe server said: 550 5.1.1 User unknown',
    [['ann@example.net', 'mailbox_does_not_exist', 'unknown']],
  ],
  // Empty lines are no paragraphs.
  [
    `<ann@example.net>:\nAddress not found${'\n'.repeat(20)}The connection timed out.`,
    [['ann@example.net', 'connection_timeout', undefined]],
  ],
  // The sentence that names the recipient may speak of the message.
  [
    'Your message to ann@example.net was rejected due to spam classification.\nIts owner may decide so.',
    [['ann@example.net', 'spam_blocked', undefined]],
  ],
  ['The message to ann@example.net is too large.\nBye', [['ann@example.net', 'policy_block', undefined]]],
  ['postmaster@example.net says: 550 5.1.1 User unknown', [[undefined, 'mailbox_does_not_exist', 'unknown']]],
  [
    'no-postmaster@example.net says: 550 5.1.1 User unknown',
    [['no-postmaster@example.net', 'mailbox_does_not_exist', 'unknown']],
  ],
])('the notice %j says %j', async (text, expected) => {
  const found = await failures(text)
  if (!Array.isArray(expected)) expect(found).toEqual(expected)
  else
    expect(Array.isArray(found) && found.map(({ addresses, reason, kind }) => [addresses[0], reason, kind])).toEqual(
      expected,
    )
})

test('recipients that a field names have failed, whatever the text says of them', async () => {
  const header = 'X-Failed-Recipients: ann@example.net, bob@example.net,ann@example.net,\n'
  expect(await failures('Sorry.', header)).toMatchObject([
    { addresses: ['ann@example.net'], detail: 'Sorry.' },
    { addresses: ['bob@example.net'], detail: 'Sorry.' },
  ])
  expect(await failures('Sorry.\n\nann@example.net\nGoodbye', 'X-Failed-Recipients: ann@example.net\n')).toMatchObject([
    { addresses: ['ann@example.net'], detail: 'Goodbye' },
  ])
  expect(await failures('bob@example.net\n552 5.2.2 full', header)).toMatchObject([
    { addresses: ['ann@example.net'], reason: 'mailbox_full' },
    { addresses: ['bob@example.net'], reason: 'mailbox_full' },
  ])
})

test('a reply with two spaces behind its code is evidence', async () => {
  const text =
    'Your message was not delivered to:\n\n  ann@example.net\n\nbecause:\n\n  550  5.7.1 blocked using zen.spamhaus.org'
  const failure = { addresses: ['ann@example.net'], reason: 'policy_block', readAs: 'sender (block list)' }
  expect(await failures(text)).toMatchObject([failure])
})

test('the return path of the envelope goes before one that the content names', async () => {
  const mail = (path: string) =>
    Buffer.from(
      `From: ann@example.net\nSubject: x\n\n<ann@example.net>: 550 5.1.1 User unknown\n\nReturn-Path: <${path}>\n`,
    )
  const path = 'b+01kctznv0zf3kanvqtfn6xkbd4000123456789abcdef@rp.example.test'
  const read = (content: string, returnPath?: string) => readReport(mail(content), { hasNullSender: true, returnPath })
  expect((await read(path)).kind).toBe('bounce')
  expect((await read(path, path.toUpperCase())).kind).toBe('bounce')
  expect((await read(path, path.replace('rp.example', 'rp.other'))).kind).toBe('none')
  expect((await read('ann@example.net')).kind).toBe('none')
  // A reply without the address of a recipient may be about any mail.
  const unaddressed = `From: ann@example.net\nSubject: x\n\n550 5.1.1 User unknown\n\nReturn-Path: <${path}>\n`
  expect((await readReport(Buffer.from(unaddressed), { hasNullSender: true, returnPath: path })).kind).toBe('none')
  const elsewhere = path.replace('rp.example', 'bounces')
  expect((await read(elsewhere, elsewhere)).kind).toBe('bounce')
})

test('our return path in a notice is no recipient', async () => {
  const returnPath = 'b+01kctznv0zf3kanvqtfn6xkbd4000123456789abcdef@rp.example.test'
  const text = `<ann@example.net>\nThe message from ${returnPath} came back:\n552 5.2.2 mailbox full`
  const mail = Buffer.from(`From: MAILER-DAEMON@mx.example.net\nSubject: failure notice\n\n${text}`)
  const report = await readReport(mail, { hasNullSender: true, returnPath })
  expect(report.kind === 'bounce' && report.failures.map(({ addresses, reason }) => [addresses, reason])).toEqual([
    [['ann@example.net'], 'mailbox_full'],
  ])
})

test.each([
  ['unknown', 'same', false, 'unknown'],
  ['unknown', 'same', true, 'refused'],
  ['unknown', 'inside', false, 'refused'],
  ['status', 'inside', false, 'refused'],
  ['full', 'inside', true, 'full'],
  ['full', 'member', false, undefined],
  ['unknown', 'member', true, undefined],
  [undefined, 'inside', true, undefined],
] as const)('a failure of kind %s of the mailbox "%s" (shared: %s) counts as %s', (kind, mailbox, isShared, counts) => {
  expect(kindAgainst(kind, mailbox, isShared)).toBe(counts)
  if (!isShared) expect(kindAgainst(kind, mailbox)).toBe(counts)
})
