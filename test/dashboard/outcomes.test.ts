import { expect, test } from 'vitest'
import { shownAttempt } from '../../dashboard/attempts/outcomes.ts'
import { AttemptOutcome } from '../../gen/verdict/v1/events_pb.ts'

test.for<[number, string]>([
  [302, 'redirects are not followed'],
  [401, 'asks for a sign-in'],
  [404, 'Check the path in the URL'],
  [500, 'Look for the cause in its log'],
  [503, 'Look for the cause in its log'],
  [418, 'another status than 200'],
])('an attempt that got HTTP %i says what to look at', ([status, words]) => {
  expect(shownAttempt(AttemptOutcome.NOT_200, status).sentence).toContain(words)
})
