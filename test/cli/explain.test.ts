import { expect, test } from 'vitest'
import { run } from '../../cli/run.ts'

test.each([
  [
    '550 5.1.1 User unknown',
    [],
    'bounced/mailbox_does_not_exist\nread as: about mailbox (unknown)\nkind: unknown\ndecided by: its words "User unknown"\nsuppresses the address: at once',
  ],
  ['552 5.2.2 full', [], 'suppresses the address: at incident 3 within 30 days, for 7 days'],
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
