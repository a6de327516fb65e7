import { expect, test } from 'vitest'
import { run } from '../../cli/run.ts'

test.each([
  [
    '550 5.1.1 User unknown',
    [],
    'bounced/mailbox_does_not_exist\nread as: about mailbox (unknown)\nsuppresses the address: at once',
  ],
  ['552 5.2.2 full', [], 'suppresses the address: at bounce 3 within 7 days, for 7 days'],
  [
    '554 5.7.1 Message rejected: flagged as spam',
    ['--phase', 'dot'],
    'bounced/spam_blocked\nread as: about message (spam)',
  ],
  ['550 4.4.7 QUEUE.Expired', ['--phase', 'late'], 'bounced/connection_timeout (you may send it again)'],
  ['553 mail.example.com does not exist', ['--ours', 'mail.example.com'], 'read as: about us (our name)'],
  ['250 2.0.0 Ok', ['--phase', 'dot'], 'delivered'],
])('explain says how "%s" %j is read', async (reply, options, text) => {
  const output = await run(['explain', reply, ...options])
  expect(output.text).toContain(text)
})

test('explain refuses what is no reply, and says why', async () => {
  await expect(run(['explain', 'hello'])).rejects.toThrow('reply: begins with no code')
})
