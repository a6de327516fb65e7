import { expect, test } from 'vitest'
import { engineWith, exchangerWith, outcomeOf, send, siteOf } from './deliver.ts'

// Servers bend the rules of RFC 5321 4.2. A reply that can be understood is never a doubt.

const LENIENT: [string, Parameters<typeof exchangerWith>[0], string][] = [
  ['an LF alone after the greeting', { greeting: { raw: '220 hello\n' } }, 'delivered'],
  ['an empty line after the greeting', { greeting: { raw: '220 hello\r\n\r\n' } }, 'delivered'],
  ['an LF alone after the dot', { dot: { raw: '250 ok\n' } }, 'delivered'],
  ['an empty line before the reply to the dot', { dot: { raw: '\r\n250 ok\r\n' } }, 'delivered'],
  ['250 and 251 in one reply to the dot', { dot: { raw: '250-ok\r\n251 and forwarded\r\n' } }, 'delivered'],
  ['two replies to the dot', { dot: { raw: '250 ok\r\n250 queued\r\n' } }, 'delivered'],
  ['two refusals of one class at the dot', { dot: { raw: '550-5.7.1 no\r\n554 5.7.1 spam\n' } }, 'spam_blocked'],
  [
    'a refusal with LF alone at RCPT',
    { rcpt: { raw: '550-5.1.1 no\n550 5.1.1 such user\n' } },
    'mailbox_does_not_exist',
  ],
  ['codes of two classes after the dot', { dot: { raw: '250-ok\r\n550 no\r\n' } }, 'in_doubt'],
  ['a reply to the dot whose last line never comes', { dot: { raw: '250-ok\r\n', act: 'close' } }, 'in_doubt'],
]

test.concurrent.each(LENIENT)('%s', async (_, script, expected) => {
  const exchanger = await exchangerWith(script)
  const attempt = await send(engineWith(), siteOf(exchanger))
  expect(outcomeOf(attempt)).toBe(expected)
  expect(exchanger.sessions).toHaveLength(1)
})

test.concurrent.each([
  ['553 sender.test does not exist', 'sender (our name)'],
  ['550 5.1.1 <sender@sender.test>: User unknown', 'sender (our address)'],
  ['550 news.example does not exist', 'sender (our name)'],
  ['550 127.0.0.1 is unknown here', 'sender (our name)'],
  ['550 5.1.1 <user@example.test>: User unknown', 'mailbox (unknown)'],
])('the engine knows the names in %j: %s', async (rcpt, readAs) => {
  const exchanger = await exchangerWith({ rcpt })
  const { reading } = await send(engineWith(), siteOf(exchanger), { from: ['hello@news.example', 'news.example'] })
  expect(`${reading?.subject} (${reading?.row})`).toBe(readAs)
})
