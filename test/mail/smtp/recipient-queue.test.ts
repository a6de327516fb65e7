import { expect, test } from 'vitest'
import type { SmtpAttempt, Verdict } from '../../../mail/smtp/attempt.ts'
import type { Failure } from '../../../mail/smtp/failure.ts'
import {
  type Evidence,
  mayConnectAgain,
  noteWithoutTls,
  type QueuedRecipient,
  RecipientQueue,
} from '../../../mail/smtp/recipient-queue.ts'
import type { Session } from '../../../mail/smtp/session.ts'
import { outcomeOf } from './deliver.ts'

// What is known of each recipient of a delivery, without a conversation.

const queueOf = (count: number, more: Partial<ConstructorParameters<typeof RecipientQueue>[1]> = {}) =>
  new RecipientQueue(
    Array.from({ length: count }, (_, index) => ({ index, address: `user${index}@example.test` })),
    { startedAtMs: performance.now(), own: { ms: () => 7 }, ...more },
  )

/** The recipients of a new queue. */
const all = ({ waiting }: RecipientQueue) => [...waiting] as [QueuedRecipient, QueuedRecipient, QueuedRecipient]

const indexesOf = (recipients: Iterable<QueuedRecipient>) => Array.from(recipients, ({ index }) => index)

const close = (queue: RecipientQueue, cause: string, isOurs: boolean) =>
  queue.close(cause, isOurs).map(({ attempt }) => attempt)

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
  const queue = queueOf(5)
  const [one, two] = all(queue)
  expect(indexesOf(queue.take(session(), 2, true))).toEqual([0, 1])
  queue.askAlone(one, LATER, at('a'))
  queue.postpone(two, LATER, at('a'))
  expect(indexesOf(queue.waiting)).toEqual([2, 3, 4, 0, 1])
  expect(indexesOf(queue.take(session(), 2, true))).toEqual([2, 3])
  expect(indexesOf(queue.take(session(), 9, true))).toEqual([4, 1])
  expect(indexesOf(queue.take(session(), 9, true))).toEqual([0])
  expect(indexesOf(queue.take(session(), 9, true))).toEqual([])
  queue.askAlone(one, LATER, at('a'))
  queue.postpone(two, LATER, at('a'))
  expect(indexesOf(queue.take(session(), 9, true))).toEqual([0])
})

test('a recipient gets two connections that were opened for it, and any number of transactions over them', () => {
  const queue = queueOf(1)
  const [one] = all(queue)
  const [first, second, kept] = [session(), session(), session()]
  const again = (over: Session, isOpenedForIt: boolean) => {
    queue.take(over, 1, isOpenedForIt)
    queue.postpone(one, LATER, at('a'))
    return mayConnectAgain(one)
  }
  expect([again(kept, false), again(first, true), again(first, true), again(second, true)]).toEqual([
    true,
    true,
    true,
    false,
  ])
})

test('an attempt has its own time, and the tries before it that were other ones', () => {
  const queue = queueOf(2)
  const [one, two] = all(queue)
  const deciding = at('b', { reused: true })
  queue.take(session(), 2, true)
  queue.fail([one], failure('closed'), at('a', { reused: true }))
  queue.fail([one], refusal, at('a', { ip: '192.0.2.1' }))
  queue.postpone(one, LATER, deciding)
  queue.settle(one, DELIVERED, deciding)
  queue.settle(two, DELIVERED, deciding)
  const [first, second] = close(queue, '', false)
  expect(first).toMatchObject({ ...DELIVERED, mx: 'b', reused: true, timings: { own: 7 } })
  expect(first!.tried).toEqual([
    { mx: 'a', ip: undefined, phase: 'mail', detail: 'on a kept connection: closed' },
    { mx: 'a', ip: '192.0.2.1', phase: 'mail', detail: '451 4.3.0 later' },
  ])
  expect(second).not.toHaveProperty('tried')
})

test('a deciding try is not among the tries before it', () => {
  const queue = queueOf(1)
  const [one] = all(queue)
  queue.fail([one], refusal, at('a'))
  expect(close(queue, '', false)[0]).not.toHaveProperty('tried')
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
  const queue = queueOf(1)
  const [one] = all(queue)
  for (const [each, host] of tries) queue.fail([one], each, at(host))
  const [attempt] = close(queue, 'no time', true)
  expect([attempt!.mx, triedIn(attempt!)]).toEqual([mx, others])
})

test('a recipient that was postponed ends with the words of the server', () => {
  const queue = queueOf(1)
  const [one] = all(queue)
  queue.postpone(one, LATER, at('a'))
  expect(close(queue, 'no time', true)).toMatchObject([{ ...LATER, mx: 'a' }])
})

test.each([
  [true, 'our_fault', undefined],
  [false, 'temporary_failure', 'a'],
])('a recipient that no transaction had room for, by a fault of ours: %s, is %s', (isOurs, outcome, mx) => {
  const queue = queueOf(2)
  const [one] = all(queue)
  queue.settle(one, DELIVERED, at('a', { transaction: 1 }))
  const [, second] = close(queue, 'draining', isOurs)
  expect([outcomeOf(second!), second!.mx, second!.transaction]).toEqual([outcome, mx, undefined])
})

test('a recipient that was never tried is a fault of ours with its cause', () => {
  const [attempt] = close(queueOf(1), 'draining', false)
  expect(attempt).toMatchObject({ phase: 'connect', outcome: { kind: 'our_fault', cause: 'draining' }, tls: null })
})

test('why a try is in clear is listed, and does not decide', () => {
  const queue = queueOf(1)
  const [one] = all(queue)
  const tls = { version: 'TLSv1.3', verified: false }
  noteWithoutTls([one], failure('closed', { phase: 'starttls', ip: '192.0.2.1', tls }), at('a'))
  expect(close(queue, '', false)).toMatchObject([
    {
      outcome: { kind: 'our_fault' },
      tried: [{ mx: 'a', ip: '192.0.2.1', phase: 'starttls', detail: 'closed' }],
    },
  ])
})

test('exchangers that may not be tried now are listed for each recipient, and end those without another try', () => {
  const skipped = [
    { mx: 'a', detail: 'SERVFAIL', isOurs: false },
    { mx: 'b', detail: 'REFUSED', isOurs: false },
  ]
  const queue = queueOf(2, { skipped })
  const [one] = all(queue)
  queue.settle(one, DELIVERED, at('c'))
  const [first, second] = close(queue, '', false)
  expect(triedIn(first!)).toEqual(['a: SERVFAIL', 'b: REFUSED'])
  expect([outcomeOf(second!), second!.mx, triedIn(second!)]).toEqual(['temporary_failure', 'a', ['b: REFUSED']])
})

test('the recipients whose dot was refused have no message, until they are in a transaction again', () => {
  const queue = queueOf(4)
  const [one, two, three] = all(queue)
  queue.postpone(one, { ...LATER, phase: 'dot' }, at('a'))
  queue.postpone(two, LATER, at('a'))
  queue.askAlone(three, LATER, at('a'))
  expect(queue.refused()).toEqual([0, 2])
  queue.settle(one, DELIVERED, at('a'))
  expect(queue.refused()).toEqual([2])
})
