import { type Attempt, AttemptOutcome } from '../../gen/verdict/v1/events_pb.ts'
import { shownIn } from '../status/shown-in.ts'
import type { ShownState } from '../status/statuses.ts'

interface ShownAttempt extends ShownState {
  /** What happened, and what to do. */
  sentence: string
}

const OUTCOMES: Record<AttemptOutcome, ShownAttempt> = {
  [AttemptOutcome.UNSPECIFIED]: { tone: 'waiting', word: 'Running', sentence: 'The attempt has not ended.' },
  [AttemptOutcome.ACKED]: { tone: 'delivered', word: 'Acknowledged', sentence: 'The endpoint responded with 200.' },
  [AttemptOutcome.DNS]: {
    tone: 'error',
    word: 'Host not found',
    sentence: 'DNS has no address for the host. Check its name in the URL.',
  },
  [AttemptOutcome.BLOCKED]: {
    tone: 'error',
    word: 'Not allowed',
    sentence: 'The URL or its address is not allowed. The host needs a public address.',
  },
  [AttemptOutcome.TLS]: {
    tone: 'error',
    word: 'TLS failed',
    sentence: 'TLS failed.',
  },
  [AttemptOutcome.CONNECT]: {
    tone: 'error',
    word: 'No connection',
    sentence: 'There was no response.',
  },
  [AttemptOutcome.TIMEOUT_HEAD]: {
    tone: 'error',
    word: 'Timed out',
    sentence: 'The response did not begin in time. Acknowledge first, and do the work afterwards.',
  },
  [AttemptOutcome.TIMEOUT_BODY]: {
    tone: 'error',
    word: 'Timed out',
    sentence: 'The response began, was not 200, and did not end in time.',
  },
  [AttemptOutcome.NOT_200]: {
    tone: 'error',
    word: 'Refused',
    sentence: 'The endpoint responded with another status than 200. Redirects are not followed.',
  },
  [AttemptOutcome.SUCCESS_BUT_NOT_200]: {
    tone: 'error',
    word: 'Not 200',
    sentence: 'The endpoint responded with success, but only 200 acknowledges an event. Respond with 200.',
  },
  [AttemptOutcome.UNKNOWN]: {
    tone: 'doubt',
    word: 'Unknown',
    sentence: 'The service stopped during the attempt. The endpoint may have the event, and receives it again.',
  },
}

/** What to look at when the endpoint responded with an HTTP status other than 200. The first entry that fits is shown. */
const STATUS_SENTENCES: [from: number, to: number, sentence: string][] = [
  [401, 401, 'The endpoint asks for a sign-in. Let requests with a valid signature in without one.'],
  [403, 403, 'The endpoint does not let the request in. Look for a firewall, or a check of the signature that fails.'],
  [404, 404, 'The endpoint has nothing at this path. Check the path in the URL.'],
  [405, 405, 'The endpoint does not accept POST at this path. Check the path in the URL.'],
  [413, 413, 'The endpoint takes the request for too large. Raise its limit.'],
  [429, 429, 'The endpoint has received too many requests. Raise its limit.'],
  [500, 599, 'The endpoint failed. Look for the cause in its log.'],
]

type Attempted = Pick<Attempt, 'outcome' | 'statusCode' | 'detail'>

/** The service knows the causes of these better than their outcome and status tell. */
const isExplained = ({ outcome, statusCode = 0 }: Attempted) =>
  outcome === AttemptOutcome.CONNECT ||
  outcome === AttemptOutcome.TLS ||
  outcome === AttemptOutcome.DNS ||
  (outcome === AttemptOutcome.NOT_200 && statusCode >= 300 && statusCode < 400)

/** How an attempt is shown. */
export function shownAttempt(attempt: Attempted): ShownAttempt {
  const { outcome, statusCode, detail } = attempt
  const shown = shownIn(OUTCOMES, outcome)
  if (detail && isExplained(attempt)) return { ...shown, sentence: detail }
  if (outcome !== AttemptOutcome.NOT_200 || statusCode === undefined) return shown
  const ofStatus = STATUS_SENTENCES.find(([from, to]) => statusCode >= from && statusCode <= to)
  if (!ofStatus) return shown
  return { ...shown, sentence: ofStatus[2], word: statusCode >= 500 ? 'Failed' : shown.word }
}
