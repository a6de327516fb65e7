import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { replyOf } from '../../../bench/verdicts/labelled.ts'
import type { Host } from '../../../mail/smtp/attempt.ts'
import { ruleFor } from '../../../mail/smtp/classify.ts'
import type { Failure } from '../../../mail/smtp/failure.ts'
import {
  hostsAfter,
  isServerTrouble,
  otherHosts,
  placeRefusal,
  refusesRate,
  sameHostFirst,
} from '../../../mail/smtp/next-hosts.ts'

/** The words of every reply that a row of the tables is tested with. */
const texts = readFileSync(new URL('rows.txt', import.meta.url), 'utf8')
  .split('\n')
  .flatMap((line) => /^(?:\[\S+\] )?[45]\d\d[ -](?:[45]\.\d+\.\d+ )?(.*)$/.exec(line)?.[1] ?? [])

test('whatever codes a reply has, one about the recipient, or about who sends and how often, asks no other exchanger', () => {
  const codes = ['421', '421 4.3.2', '450 4.4.1', '451 4.3.0', '452 4.3.1', '550 5.3.0', '554 5.4.4', '500 4.3.0']
  const kinds = new Set<boolean>()
  for (const text of texts)
    for (const code of codes) {
      const reply = replyOf(`${code} ${text}`)
      const { subject, name: row } = ruleFor({ phase: 'rcpt', reply, mx: 'mx.example.net' })
      const isAboutServer = reply.code < 500 && subject === 'sender' && !['greylisting', 'rate'].includes(row)
      const asksNext = isServerTrouble(reply, { subject, row })
      if (!isAboutServer) expect(asksNext, `${code} ${text}`).toBe(false)
      kinds.add(asksNext)
    }
  expect(kinds.size).toBe(2)
})

const HOST = { name: 'mx.example.net', preference: 0, addresses: [], port: 25 }

test.each<[string, boolean]>([
  ['421 4.7.0 too many messages, slow down', true],
  ['421 too many messages from your IP, slow down', true],
  ['450 4.7.1 sending rate exceeded', true],
  ['450 4.2.1 The user you are trying to contact is receiving mail too quickly', false],
  ['450 4.3.2 sending rate exceeded', false],
  ['421 4.3.2 shutting down', false],
  ['421 4.7.0 your IP is on a block list', false],
])('"%s" slows the site down: %s', (text, slows) => {
  for (const phase of ['mail', 'rcpt', 'dot'] as const) expect(refusesRate(phase, replyOf(text), HOST)).toBe(slows)
})

test.each<[string, boolean]>([
  ['451 4.3.0 Temporary lookup failure', true],
  ['450 4.4.1 connection timed out', true],
  ['452 Insufficient system storage', true],
  ['421 Service not available, closing transmission channel', true],
  ['421 4.3.2 shutting down', true],
  ['421 bye', true],
  ['421 4.7.0 your IP is on a block list', false],
  ['450 4.7.1 your IP is on a block list', false],
  ['450 4.1.8 Sender address rejected: Domain not found', false],
])('"%s" sends the message to the next exchanger: %s', (text, asksNext) => {
  const reply = replyOf(text)
  const { subject, name: row } = ruleFor({ phase: 'rcpt', reply, mx: 'mx.example.net' })
  expect(isServerTrouble(reply, { subject, row })).toBe(asksNext)
})

test('a refused place is a refusal at the greeting that speaks of too many connections', () => {
  const place = (phase: 'greeting' | 'mail', how: 'refused' | 'closed', text?: string) =>
    placeRefusal({ kind: 'failure', phase, how, reply: text ? replyOf(text) : undefined }, HOST) !== undefined
  const tooMany = '421 4.7.0 too many connections from you'
  expect(place('greeting', 'refused', tooMany)).toBe(true)
  expect(place('mail', 'refused', tooMany)).toBe(false)
  expect(place('greeting', 'closed')).toBe(false)
  expect(place('greeting', 'refused', '554 5.7.1 you are on a block list')).toBe(false)
  expect(place('greeting', 'refused', '450 4.3.2 not now')).toBe(false)
  for (const text of ['421 4.3.2 later', '450 4.7.1 later', '452 4.5.3 Too many connections in this session'])
    expect(place('greeting', 'refused', text), text).toBe(true)
})

test('other hosts are all but the one, and a session that is full has the same host first', () => {
  const hosts = ['a', 'b', 'c'].map((name) => ({ ...HOST, name }))
  expect(otherHosts(hosts, hosts[1]!).map(({ name }) => name)).toEqual(['a', 'c'])
  expect(sameHostFirst(hosts, hosts[2]!).map(({ name }) => name)).toEqual(['c', 'a', 'b'])
})

const FIRST: Host = { ...HOST, name: 'first' }
const SECOND: Host = { ...HOST, name: 'second' }
const BOTH = [FIRST, SECOND]
const after = (failure: Partial<Failure>, { isUsed = false, mayRepeat = true } = {}) => {
  const whole = { kind: 'failure', phase: 'mail', how: 'closed', ...failure } as Failure
  return hostsAfter(whole, { hosts: BOTH, host: FIRST, isUsed, mayRepeat }).map(({ name }) => name)
}
const trouble = replyOf('452 4.3.1 Insufficient system storage')
const refusal = replyOf('550 5.7.1 not allowed')

test.each<[string, Partial<Failure>, { isUsed?: boolean; mayRepeat?: boolean }, string[]]>([
  ['closed', { how: 'closed' }, {}, ['second']],
  ['was silent', { how: 'timeout' }, {}, ['second']],
  ['is where we have no way', { how: 'unreachable', phase: 'connect' }, {}, ['second']],
  ['has no address of our family', { how: 'other_family', phase: 'connect' }, {}, ['second']],
  ['offered no good TLS', { how: 'insecure', phase: 'starttls' }, {}, ['second']],
  ['took too long over each recipient', { how: 'slow', phase: 'rcpt' }, {}, ['first']],
  ['wrote garbage', { how: 'garbage' }, {}, ['first']],
  ['wrote garbage again', { how: 'garbage' }, { mayRepeat: false }, []],
  ['refused the greeting', { how: 'refused', phase: 'greeting', reply: refusal }, {}, ['second']],
  ['refused EHLO', { how: 'refused', phase: 'ehlo', reply: refusal }, {}, ['second']],
  ['refused MAIL', { how: 'refused', reply: refusal }, {}, []],
  ['is itself in trouble', { how: 'refused', reply: trouble }, {}, ['second']],
  ['was not asked, as the caller left', { how: 'left' }, {}, []],
  ['was not asked by a fault of this machine', { how: 'local', phase: 'connect' }, {}, []],
  ['died while it was idle', { how: 'closed' }, { isUsed: true }, ['first', 'second']],
  ['refused MAIL on a kept connection', { how: 'refused', reply: refusal }, { isUsed: true }, ['first', 'second']],
  ['was left on a kept connection', { how: 'left' }, { isUsed: true }, []],
  ['closed at RCPT of a kept connection', { how: 'closed', phase: 'rcpt' }, { isUsed: true }, ['second']],
])('after a host that %s, the next are %j', (_, failure, state, next) => {
  expect(after(failure, state)).toEqual(next)
})
