import type { MessageInitShape } from '@bufbuild/protobuf'
import { AttemptOutcomeSchema, type AttemptPhasesSchema } from '../../gen/verdict/v1/events_pb.ts'
import { enumNames } from '../db/enum-names.ts'
import { causeOf } from '../webhooks/post/causes.ts'
import type { StoredOutcome } from '../webhooks/post/post-outcomes.ts'

const outcomeNames = enumNames(AttemptOutcomeSchema)

/** How an attempt ended: the columns of a stored attempt, and the result of a test POST. Phases in milliseconds. */
export interface EndedAttempt {
  outcome: StoredOutcome
  /** The cause when there was no response, as far as it is known. */
  code?: string | null
  /** Where a redirect leads. */
  location?: string | null
  statusCode?: number | null
  phases?: { dns?: number; connect?: number; tls?: number; head?: number; body?: number } | null
  excerpt?: string | null
  excerptCut?: boolean
}

/** The fields that every response about an attempt has. */
export function shownEnd(end: EndedAttempt) {
  const { outcome, statusCode, phases, excerpt, excerptCut } = end
  return {
    outcome: outcomeNames.value(outcome),
    detail: detailOf(end),
    statusCode: statusCode ?? undefined,
    phases: phases ? shownPhases(phases) : undefined,
    responseExcerpt: excerpt || undefined,
    responseCut: excerptCut ? true : undefined,
  }
}

/** What happened, and what to look at. An outcome whose cause is not known claims none. */
function detailOf(end: EndedAttempt): string | undefined {
  const { outcome, code } = end
  const cause = causeOf(code)?.sentence
  // The names of Node's codes find the cause in other people's reports.
  if (cause) return /^[A-Z]/.test(code ?? '') ? `${cause} (${code})` : cause
  return DETAILS[outcome](end)
}

function notAcknowledged({ statusCode, location }: EndedAttempt): string {
  if (location)
    return `The endpoint responded with ${statusCode} and redirects to ${withMaskedQuery(location)}. Redirects are not followed: set the URL that responds with 200.`
  return `The endpoint responded with ${statusCode}. Only 200 acknowledges an event.`
}

/** A URL, or a part of one, as it is shown. The values of a query may be passwords. */
export function withMaskedQuery(url: string): string {
  const mark = url.indexOf('?') + 1
  if (mark === 0) return url
  const masked = url
    .slice(mark)
    .split('&')
    .map((part) => (part.includes('=') ? part.replace(/=.*/s, '=***') : '***'))
  return url.slice(0, mark) + masked.join('&')
}

const DETAILS: Record<StoredOutcome, (end: EndedAttempt) => string | undefined> = {
  acked: () => undefined,
  not_200: notAcknowledged,
  success_but_not_200: notAcknowledged,
  dns: () => "The endpoint's host name was not found in DNS.",
  blocked: () => 'The service may not call this URL or its address: for example, the address is not public.',
  tls: () => 'TLS failed.',
  connect: ({ phases }) =>
    phases?.head === undefined ? 'No connection was made.' : 'The connection broke before the response.',
  timeout_head: () => 'The endpoint did not begin its response in time.',
  timeout_body: ({ statusCode }) =>
    `The endpoint responded with ${statusCode}, but did not finish its response in time.`,
  unknown: () => 'The service stopped during the attempt. The event is sent again under the same number.',
}

function shownPhases(phases: NonNullable<EndedAttempt['phases']>): MessageInitShape<typeof AttemptPhasesSchema> {
  const { dns, connect, tls, head, body } = phases
  return { dnsMs: dns, connectMs: connect, tlsMs: tls, headMs: head, bodyMs: body }
}
