import { type Attempt, AttemptOutcome } from '../../gen/verdict/v1/events_pb.ts'
import type { Tone } from '../status/statuses.ts'

interface ShownAttempt {
  tone: Tone
  word: string
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
    sentence: 'The certificate is not valid for the host, or there is no common version of TLS.',
  },
  [AttemptOutcome.CONNECT]: {
    tone: 'error',
    word: 'No connection',
    sentence: 'Nothing listens there, or the connection broke before the response. Check that the endpoint runs.',
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
  [300, 399, 'The endpoint redirects, and redirects are not followed. Set the URL that it redirects to.'],
  [401, 401, 'The endpoint asks for a sign-in. Let requests with a valid signature in without one.'],
  [403, 403, 'The endpoint does not let the request in. Look for a firewall, or a check of the signature that fails.'],
  [404, 404, 'The endpoint has nothing at this path. Check the path in the URL.'],
  [405, 405, 'The endpoint does not accept POST at this path. Check the path in the URL.'],
  [413, 413, 'The endpoint takes the request for too large. Raise its limit.'],
  [429, 429, 'The endpoint has received too many requests. Raise its limit.'],
  [500, 599, 'The endpoint failed. Look for the cause in its log.'],
]

const NOT_CONNECTED =
  'No connection was made: nothing listens at this host and port, or a firewall is in between. Check that the endpoint runs.'
const BROKEN = 'The endpoint accepted the connection, and closed it before the response. Look for the cause in its log.'

type Attempted = Pick<Attempt, 'outcome' | 'statusCode' | 'phases'>

/** How an attempt is shown. The request was sent when its phases have a time for the head of the response. */
export function shownAttempt({ outcome, statusCode, phases }: Attempted): ShownAttempt {
  const shown = OUTCOMES[outcome]!
  if (outcome === AttemptOutcome.CONNECT && phases) {
    return { ...shown, sentence: phases.headMs === undefined ? NOT_CONNECTED : BROKEN }
  }
  if (outcome !== AttemptOutcome.NOT_200 || statusCode === undefined) return shown
  const ofStatus = STATUS_SENTENCES.find(([from, to]) => statusCode >= from && statusCode <= to)
  return ofStatus ? { ...shown, sentence: ofStatus[2] } : shown
}
