import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runCli } from '../../cli/run.ts'
import { SUPPRESSION_RULES } from '../../server/reputation/incidents.ts'
import { temporaryFolder } from '../harness/until-end.ts'
import { arf, dsn } from '../inbound/report-forms.ts'

const ORDINALS = ['', 'first', 'second', 'third']

test.each([
  [
    '550 5.1.1 User unknown',
    [],
    'bounced/mailbox_does_not_exist\nThe recipient has no mailbox. Check the spelling, or ask for another address.\nread as: about mailbox (unknown)\nkind: unknown\ndecided by: its words "User unknown"\nsuppresses the address: at once',
  ],
  ['552 5.2.2 full', [], 'suppresses the address: at its third incident within 30 days, for 7 days'],
  [
    '554 5.7.1 Message rejected: flagged as spam',
    ['--phase', 'dot'],
    "bounced/spam_blocked\nThe mail server of the recipient's domain takes the content for spam or harmful. Change the content before you send it again.\nread as: about message (spam)",
  ],
  ['550 4.4.7 QUEUE.Expired', ['--phase', 'late'], 'bounced/connection_timeout (you may send it again)'],
  ['553 mail.example.com does not exist', ['--ours', 'mail.example.com'], 'read as: about sender (our name)'],
  ['550 5.1.1 <ann@example.net>', [], 'kind: unknown\ndecided by: its status\n'],
  ['552 no', [], 'kind: full\ndecided by: its code\n'],
  [
    '554 5.1.1 User unknown',
    ['--phase', 'greeting'],
    'about sender (refused before any recipient)\ndecided by: its code',
  ],
  ['454 4.7.0 TLS not available', ['--phase', 'starttls'], 'read as: about sender (TLS refused)'],
  ['550 User unknown', ['--phase', 'mail'], 'suppresses the address: never'],
  ['250 2.0.0 Ok', ['--phase', 'dot'], 'delivered'],
])('explain says how "%s" %j is read', async (reply, options, text) => {
  const output = await runCli(['explain', reply, ...options])
  expect(output.text).toContain(text)
})

test('explain says in JSON what decided', async () => {
  const output = await runCli(['explain', '550 5.1.1 <ann@example.net>: User unknown', '--to', 'ann@example.net'])
  expect(output.json).toMatchObject({ kind: 'unknown', decided_by: 'words', words: 'User unknown' })
})

test('explain refuses what is no reply, and says why', async () => {
  await expect(runCli(['explain', 'hello'])).rejects.toThrow('reply: begins with no code')
})

const BOUNCE = dsn({
  fields: [
    'Final-Recipient: rfc822; ann@example.net\nAction: failed\nStatus: 5.1.1\nDiagnostic-Code: smtp; 550 5.1.1 User unknown',
  ],
})

const inFile = (mail: string) => {
  const folder = temporaryFolder()
  const file = join(folder, 'mail.eml')
  writeFileSync(file, mail)
  return file
}

test('explain reads a mail that came back, as the bounce port does', async () => {
  const ours = await runCli(['explain', '--file', inFile(BOUNCE)])
  const failure = {
    recipient: 'ann@example.net',
    kind: 'unknown',
    decided_by: 'words',
    words: 'User unknown',
    code: 550,
  }
  expect(ours.json).toMatchObject({ report: 'bounce', failures: [failure] })
  expect(ours.text).toContain(
    'bounce of ann@example.net\nbounced/mailbox_does_not_exist\nThe recipient has no mailbox. Check the spelling, or ask for another address.\nread as: about mailbox (unknown)',
  )

  const ofList = await runCli(['explain', '--file', inFile(BOUNCE), '--to', 'list@example.org'])
  expect(ofList.json).toMatchObject({
    failures: [{ recipient: 'list@example.org', member: true, suppresses: 'never' }],
  })
  expect(ofList.text).toContain('another mailbox failed: ann@example.net')

  const complaint = await runCli(['explain', '--file', inFile(arf({ fields: 'Original-Rcpt-To: ann@example.net\n' }))])
  expect(complaint.json).toMatchObject({ report: 'complaint', type: 'abuse', recipients: ['ann@example.net'] })

  const letter = await runCli([
    'explain',
    '--file',
    inFile('From: ann@example.net\r\nSubject: Hi\r\n\r\nUser unknown\r\n'),
  ])
  expect(letter).toMatchObject({ json: { report: 'none', why: expect.stringContaining('no mail system wrote it') } })
  expect(letter.exit ?? 'ok').toBe('ok')
})

test('explain takes a reply or a file, and says why it cannot read one', async () => {
  await expect(runCli(['explain'])).rejects.toMatchObject({ exit: 'usage' })
  await expect(runCli(['explain', '550 no', '--file', inFile(BOUNCE)])).rejects.toMatchObject({ exit: 'usage' })
  await expect(runCli(['explain', '--file', '/nowhere/bounce.eml'])).rejects.toMatchObject({ exit: 'usage' })
})

test('what explain says of a kind is what the rules of suppression say', async () => {
  const replies = { unknown: '550 5.1.1 User unknown', status: '550 5.1.1 Geoblocked', refused: '550 5.2.1 off' }
  const full = '552 5.2.2 Mailbox full'
  for (const [kind, reply] of Object.entries({ ...replies, full })) {
    const { json } = await runCli(['explain', reply])
    expect(json).toMatchObject({ kind })
    for (const { incident, withinDays, days } of SUPPRESSION_RULES.filter((rule) => rule.kind === kind)) {
      const { suppresses } = json as { suppresses: string }
      expect(suppresses).toContain(days === null ? 'for good' : `for ${days} days`)
      if (kind !== 'unknown') expect(suppresses).toContain(`${ORDINALS[incident]} incident within ${withinDays} days`)
    }
  }
})
