import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { expect, test } from 'vitest'
import { conversationSpan, phaseLength, stepsOf } from '../../dashboard/messages/conversation-steps.ts'
import { SmtpEvidenceSchema, SmtpPhase } from '../../gen/verdict/v1/outcomes_pb.ts'

const evidence = (init: MessageInitShape<typeof SmtpEvidenceSchema>) => create(SmtpEvidenceSchema, init)

test('the phases follow each other on the axis, up to the one that decided', () => {
  const timings = { dns: 4, connect: 18, greeting: 2, ehlo: 1, mail: 3, rcpt: 5 }
  const steps = stepsOf(evidence({ phase: SmtpPhase.RCPT, timings }))
  expect(steps.map(({ startMs, durationMs }) => [startMs, durationMs])).toEqual([
    [0, 4],
    [4, 18],
    [22, 2],
    [24, 1],
    [25, 3],
    [28, 5],
  ])
  expect(steps.filter(({ decides }) => decides).map(({ ours }) => ours)).toEqual(['RCPT TO'])
})

test('a phase that decided has a step even when it was not timed', () => {
  expect(stepsOf(evidence({ phase: SmtpPhase.CONNECT, timings: { dns: 1 } }))).toMatchObject([
    { phase: SmtpPhase.DNS, decides: false },
    { phase: SmtpPhase.CONNECT, decides: true, durationMs: undefined },
  ])
})

test('a lost reply belongs to the final dot', () => {
  const steps = stepsOf(evidence({ phase: SmtpPhase.AFTER_DOT, timings: { data: 1, dot: 6 } }))
  expect(steps.at(-1)).toMatchObject({ phase: SmtpPhase.DOT, decides: true, durationMs: 6 })
})

test('what is in no phase went into checks and waiting', () => {
  expect(conversationSpan(evidence({ durationMs: 100, timings: { dns: 10, connect: 30 } }))).toEqual({
    totalMs: 100,
    restMs: 60,
  })
  expect(conversationSpan(evidence({ durationMs: 39, timings: { dns: 10, connect: 30 } }))).toEqual({
    totalMs: 40,
    restMs: 0,
  })
})

test('short phases are shown to a tenth of a millisecond, long ones in seconds', () => {
  expect([0, 0.04, 3.46, 18.4, 999, 1240, 12_400].map(phaseLength)).toEqual([
    '0 ms',
    '0 ms',
    '3.5 ms',
    '18 ms',
    '999 ms',
    '1.2 s',
    '12 s',
  ])
})
