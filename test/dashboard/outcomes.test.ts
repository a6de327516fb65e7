import { create } from '@bufbuild/protobuf'
import { expect, test } from 'vitest'
import { shownAttempt } from '../../dashboard/attempts/outcomes.ts'
import { AttemptOutcome, AttemptPhasesSchema } from '../../gen/verdict/v1/events_pb.ts'

test.for<[number, string]>([
  [302, 'redirects are not followed'],
  [401, 'asks for a sign-in'],
  [404, 'Check the path in the URL'],
  [500, 'Look for the cause in its log'],
  [503, 'Look for the cause in its log'],
  [418, 'another status than 200'],
])('an attempt that got HTTP %i says what to look at', ([status, words]) => {
  expect(shownAttempt({ outcome: AttemptOutcome.NOT_200, statusCode: status }).sentence).toContain(words)
})

test.for<[words: string, phases: { connectMs: number; headMs?: number }]>([
  ['No connection was made', { connectMs: 2 }],
  ['accepted the connection, and closed it', { connectMs: 2, headMs: 1 }],
])('a failed connection is told by its phases: %s', ([words, phases]) => {
  const attempt = { outcome: AttemptOutcome.CONNECT, phases: create(AttemptPhasesSchema, phases) }
  expect(shownAttempt(attempt).sentence).toContain(words)
})
