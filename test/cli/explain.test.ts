import { expect, test } from 'vitest'
import { run } from '../../cli/run.ts'
import { SUPPRESSION_RULES } from '../../server/reputation/incidents.ts'

const ORDINALS = ['', 'first', 'second', 'third']

test.each([
  [
    '550 5.1.1 User unknown',
    [],
    'bounced/mailbox_does_not_exist\nread as: about mailbox (unknown)\nkind: unknown\ndecided by: its words "User unknown"\nsuppresses the address: at once',
  ],
  ['552 5.2.2 full', [], 'suppresses the address: at its third incident within 30 days, for 7 days'],
  [
    '554 5.7.1 Message rejected: flagged as spam',
    ['--phase', 'dot'],
    'bounced/spam_blocked\nread as: about message (spam)',
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
  ['550 User unknown', ['--phase', 'mail'], 'suppresses the address: never'],
  ['250 2.0.0 Ok', ['--phase', 'dot'], 'delivered'],
])('explain says how "%s" %j is read', async (reply, options, text) => {
  const output = await run(['explain', reply, ...options])
  expect(output.text).toContain(text)
})

test('explain says in JSON what decided', async () => {
  const output = await run(['explain', '550 5.1.1 <ann@example.net>: User unknown', '--to', 'ann@example.net'])
  expect(output.json).toMatchObject({ kind: 'unknown', decided_by: 'words', words: 'User unknown' })
})

test('explain refuses what is no reply, and says why', async () => {
  await expect(run(['explain', 'hello'])).rejects.toThrow('reply: begins with no code')
})

test('what explain says of a kind is what the rules of suppression say', async () => {
  const replies = { unknown: '550 5.1.1 User unknown', status: '550 5.1.1 Geoblocked', refused: '550 5.2.1 off' }
  const full = '552 5.2.2 Mailbox full'
  for (const [kind, reply] of Object.entries({ ...replies, full })) {
    const { json } = await run(['explain', reply])
    expect(json).toMatchObject({ kind })
    for (const { incident, withinDays, days } of SUPPRESSION_RULES.filter((rule) => rule.kind === kind)) {
      const { suppresses } = json as { suppresses: string }
      expect(suppresses).toContain(days === null ? 'for good' : `for ${days} days`)
      if (kind !== 'unknown') expect(suppresses).toContain(`${ORDINALS[incident]} incident within ${withinDays} days`)
    }
  }
})
