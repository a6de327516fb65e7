import { expect, test } from 'vitest'
import { shownAttempt } from '../../dashboard/attempts/outcomes.ts'
import { AttemptOutcome } from '../../gen/verdict/v1/events_pb.ts'

test.for<[number, string]>([
  [401, 'asks for a sign-in'],
  [404, 'Check the path in the URL'],
  [500, 'Look for the cause in its log'],
  [503, 'Look for the cause in its log'],
  [418, 'another status than 200'],
])('an attempt that got HTTP %i says what to look at', ([status, words]) => {
  expect(shownAttempt({ outcome: AttemptOutcome.NOT_200, statusCode: status }).sentence).toContain(words)
})

test.for([
  { outcome: AttemptOutcome.CONNECT, statusCode: undefined },
  { outcome: AttemptOutcome.TLS, statusCode: undefined },
  { outcome: AttemptOutcome.NOT_200, statusCode: 308 },
])('an attempt whose cause the service knows shows it: $outcome', (attempt) => {
  expect(shownAttempt({ ...attempt, detail: 'The cause.' }).sentence).toBe('The cause.')
})
