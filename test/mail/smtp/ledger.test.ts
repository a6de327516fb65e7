import { expect, test } from 'vitest'
import type { SmtpAttempt, Verdict } from '../../../mail/smtp/attempt.ts'
import type { Failure } from '../../../mail/smtp/failure.ts'
import { createLedger, type Evidence } from '../../../mail/smtp/ledger.ts'
import type { Session } from '../../../mail/smtp/session.ts'
import { outcomeOf } from './deliver.ts'

// What is known of each recipient of a delivery, without a conversation.

const ledgerOf = (count: number, more: Partial<Parameters<typeof createLedger>[1]> = {}) =>
  createLedger(
    Array.from({ length: count }, (_, i) => `user${i}@example.test`),
    { startedAtMs: performance.now(), own: { ms: () => 7 }, ...more },
  )

const session = () => ({ kind: 'session' }) as Session
const at = (mx: string, more: Partial<Evidence> = {}): Evidence => ({ mx, tls: null, ...more })
const failure = (how: Failure['how'], more: Partial<Failure> = {}): Failure => ({
  kind: 'failure',
  phase: 'mail',
  how,
  detail: how,
  ...more,
})
const refusal = failure('refused', { reply: { code: 451, enhanced: '4.3.0', text: 'later' }, detail: undefined })
const DELIVERED: Verdict = { phase: 'dot', outcome: { kind: 'delivered' } }
const LATER: Verdict = {
  phase: 'rcpt',
  outcome: { kind: 'bounced', reason: 'temporary_failure', retryable: true },
  reply: { code: 452, enhanced: '4.5.3', text: 'Too many recipients' },
}
const triedIn = ({ tried }: SmtpAttempt) => tried?.map(({ mx, detail }) => `${mx}: ${detail}`)

test('a transaction takes as many waiting recipients as it may, or one that needs a transaction of its own', () => {
  const ledger = ledgerOf(5)
  expect(ledger.take(session(), 2, true)).toEqual([0, 1])
  ledger.askAlone(0, LATER, at('a'))
  ledger.postpone(1, LATER, at('a'))
  expect([...ledger.queued()]).toEqual([2, 3, 4, 0, 1])
  expect(ledger.take(session(), 2, true)).toEqual([2, 3])
  expect(ledger.take(session(), 9, true)).toEqual([4, 1])
  expect(ledger.take(session(), 9, true)).toEqual([0])
  expect(ledger.take(session(), 9, true)).toEqual([])
  ledger.askAlone(0, LATER, at('a'))
  ledger.postpone(1, LATER, at('a'))
  expect(ledger.take(session(), 9, true)).toEqual([0])
})

test('a recipient gets two connections that were opened for it, and any number of transactions over them', () => {
  const ledger = ledgerOf(1)
  const [first, second, kept] = [session(), session(), session()]
  const again = (over: Session, isOpenedForIt: boolean) => {
    ledger.take(over, 1, isOpenedForIt)
    ledger.postpone(0, LATER, at('a'))
    return ledger.mayConnectAgain(0)
  }
  expect([again(kept, false), again(first, true), again(first, true), again(second, true)]).toEqual([
    true,
    true,
    true,
    false,
  ])
})

test('an attempt has its own time, and the tries before it that were other ones', () => {
  const ledger = ledgerOf(2)
  const deciding = at('b', { reused: true })
  ledger.take(session(), 2, true)
  ledger.fail([0], failure('closed'), at('a', { reused: true }))
  ledger.fail([0], refusal, at('a', { ip: '192.0.2.1' }))
  ledger.postpone(0, LATER, deciding)
  ledger.settle(0, DELIVERED, deciding)
  ledger.settle(1, DELIVERED, deciding)
  const [first, second] = ledger.close('', false)
  expect(first).toMatchObject({ ...DELIVERED, mx: 'b', reused: true, timings: { own: 7 } })
  expect(first!.tried).toEqual([
    { mx: 'a', ip: undefined, phase: 'mail', detail: 'on a kept connection: closed' },
    { mx: 'a', ip: '192.0.2.1', phase: 'mail', detail: '451 4.3.0 later' },
  ])
  expect(second).not.toHaveProperty('tried')
})

test('a deciding try is not among the tries before it', () => {
  const ledger = ledgerOf(1)
  ledger.fail([0], refusal, at('a'))
  expect(ledger.close('', false)[0]).not.toHaveProperty('tried')
})

test.each<[string, [Failure, string][], string, string[] | undefined]>([
  ['the only one', [[failure('closed'), 'a']], 'a', undefined],
  [
    'the last of silent ones',
    [
      [failure('closed'), 'a'],
      [failure('timeout'), 'b'],
    ],
    'b',
    ['a: closed'],
  ],
  [
    'a reply before silence',
    [
      [refusal, 'a'],
      [failure('timeout'), 'b'],
    ],
    'a',
    ['b: timeout'],
  ],
  [
    'the last reply',
    [
      [refusal, 'a'],
      [refusal, 'b'],
    ],
    'b',
    ['a: 451 4.3.0 later'],
  ],
  [
    'a lack of TLS before silence',
    [
      [failure('insecure'), 'a'],
      [failure('closed'), 'b'],
    ],
    'a',
    ['b: closed'],
  ],
])('when no try decided, %s ends the recipient', (_, tries, mx, others) => {
  const ledger = ledgerOf(1)
  for (const [each, host] of tries) ledger.fail([0], each, at(host))
  const [attempt] = ledger.close('no time', true)
  expect([attempt!.mx, triedIn(attempt!)]).toEqual([mx, others])
})

test('a recipient that was postponed ends with the words of the server', () => {
  const ledger = ledgerOf(1)
  ledger.postpone(0, LATER, at('a'))
  expect(ledger.close('no time', true)).toMatchObject([{ ...LATER, mx: 'a' }])
})

test.each([
  [true, 'our_fault', undefined],
  [false, 'temporary_failure', 'a'],
])('a recipient that no transaction had room for, by a fault of ours: %s, is %s', (isOurs, outcome, mx) => {
  const ledger = ledgerOf(2)
  ledger.settle(0, DELIVERED, at('a', { transaction: 1 }))
  const [, second] = ledger.close('draining', isOurs)
  expect([outcomeOf(second!), second!.mx, second!.transaction]).toEqual([outcome, mx, undefined])
})

test('a recipient that was never tried is a fault of ours with its cause', () => {
  const [attempt] = ledgerOf(1).close('draining', false)
  expect(attempt).toMatchObject({ phase: 'connect', outcome: { kind: 'our_fault', cause: 'draining' }, tls: null })
})

test('why a try is in clear is listed, and does not decide', () => {
  const ledger = ledgerOf(1)
  const tls = { version: 'TLSv1.3', verified: false }
  ledger.noteWithoutTls([0], failure('closed', { phase: 'starttls', ip: '192.0.2.1', tls }), at('a'))
  expect(ledger.close('', false)).toMatchObject([
    {
      outcome: { kind: 'our_fault' },
      tried: [{ mx: 'a', ip: '192.0.2.1', phase: 'starttls', detail: 'closed' }],
    },
  ])
})

test('exchangers that may not be tried now are listed for each recipient, and end those without another try', () => {
  const skipped = [
    { mx: 'a', phase: 'dns' as const, detail: 'SERVFAIL' },
    { mx: 'b', phase: 'dns' as const, detail: 'REFUSED' },
  ]
  const ledger = ledgerOf(2, { skipped })
  ledger.settle(0, DELIVERED, at('c'))
  const [first, second] = ledger.close('', false)
  expect(triedIn(first!)).toEqual(['a: SERVFAIL', 'b: REFUSED'])
  expect([outcomeOf(second!), second!.mx, triedIn(second!)]).toEqual(['temporary_failure', 'a', ['b: REFUSED']])
})

test('the recipients whose dot was refused have no message, until they are in a transaction again', () => {
  const ledger = ledgerOf(4)
  ledger.postpone(0, { ...LATER, phase: 'dot' }, at('a'))
  ledger.postpone(1, LATER, at('a'))
  ledger.askAlone(2, LATER, at('a'))
  expect(ledger.refused()).toEqual([0, 2])
  ledger.settle(0, DELIVERED, at('a'))
  expect(ledger.refused()).toEqual([2])
})
