import { expect, test } from 'vitest'
import type { Failure } from '../../../mail/smtp/failure.ts'
import { failureOf, judgeFailure } from '../../../mail/smtp/failure.ts'
import type { RawReply } from '../../../mail/smtp/reply.ts'

const reply = (code: number): RawReply => ({ kind: 'reply', code, lines: [`${code} text`] }) as unknown as RawReply

/** What each way of ending a try means; `refused` is what the reply says. */
const MEANINGS: Record<Exclude<Failure['how'], 'refused'>, [kind: string, reason?: string, retryable?: boolean]> = {
  local: ['our_fault'],
  unreachable: ['our_fault'],
  left: ['our_fault'],
  garbage: ['bounced', 'temporary_failure', true],
  skipped: ['bounced', 'temporary_failure', true],
  closed: ['bounced', 'connection_timeout', true],
  other_family: ['bounced', 'connection_timeout', true],
  timeout: ['bounced', 'connection_timeout', true],
  slow: ['bounced', 'connection_timeout', true],
  insecure: ['bounced', 'policy_block', false],
}

test.each(Object.entries(MEANINGS))('a try that ended as %s before the dot is %j', (how, [kind, reason, retryable]) => {
  const failure = { kind: 'failure', phase: 'mail', how, detail: 'why' } as Failure
  const { outcome } = judgeFailure(failure, 'mx.example.net')
  expect(outcome).toEqual(kind === 'our_fault' ? { kind, cause: 'why' } : { kind, reason, retryable })
})

test('the cause of a fault of ours is its detail, or else its kind', () => {
  const failure = { kind: 'failure', phase: 'mail', how: 'left' } as Failure
  expect(judgeFailure(failure, 'mx.example.net').outcome).toEqual({ kind: 'our_fault', cause: 'left' })
})

test('what came instead of the expected reply is a refusal from 400 on, and garbage below', () => {
  for (const code of [400, 421, 499, 500, 550, 599])
    expect(failureOf('rcpt', reply(code))).toMatchObject({ how: 'refused', phase: 'rcpt', reply: { code } })
  for (const code of [200, 220, 354, 399])
    expect(failureOf('data', reply(code))).toEqual({
      ...{ kind: 'failure', phase: 'data', how: 'garbage', detail: `${code} in answer to data` },
    })
})

test('a connection that broke says how, unless a refusal came before', () => {
  const broken = { kind: 'broken', how: 'timeout', detail: 'silence', silentMs: 12 } as const
  expect(failureOf('mail', broken)).toEqual({ ...broken, kind: 'failure', phase: 'mail' })
  const refused = { ...broken, reply: reply(421) } as Parameters<typeof failureOf>[1]
  expect(failureOf('mail', refused)).toMatchObject({ how: 'refused', reply: { code: 421 } })
})
