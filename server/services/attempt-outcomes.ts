import type { MessageInitShape } from '@bufbuild/protobuf'
import { AttemptOutcomeSchema, type AttemptPhasesSchema } from '../../gen/verdict/v1/events_pb.ts'
import { enumNames } from '../db/enum-names.ts'

const outcomeNames = enumNames(AttemptOutcomeSchema)

/** How an attempt ended: the columns of a stored attempt, and the result of a test POST. Phases in milliseconds. */
export interface EndedAttempt {
  outcome: string
  /** The code of the connection's error. A stored attempt has none. */
  code?: string
  statusCode?: number | null
  phases?: { dns?: number; connect?: number; tls?: number; head?: number; body?: number } | null
  excerpt?: string | null
  excerptCut?: boolean
}

/** The fields that every response about an attempt has. */
export function shownEnd({ outcome, code, statusCode, phases, excerpt, excerptCut }: EndedAttempt) {
  return {
    outcome: outcomeNames.value(outcome),
    detail: causeOf(code) ?? DETAILS[outcome]?.(statusCode ?? undefined),
    statusCode: statusCode ?? undefined,
    phases: phases ? shownPhases(phases) : undefined,
    responseExcerpt: excerpt || undefined,
    responseCut: excerptCut ? true : undefined,
  }
}

const notAcknowledged = (status?: number) => `The endpoint responded with ${status}. Only 200 acknowledges an event.`

/** What an outcome means, and what to look at. */
const DETAILS: Record<string, (status?: number) => string> = {
  not_200: notAcknowledged,
  success_but_not_200: notAcknowledged,
  dns: () => "The endpoint's host name was not found in DNS.",
  blocked: () => 'The service may not call this URL or its address: for example, the address is not public.',
  tls: () => 'TLS failed: no common version, or the certificate is not valid for the host.',
  connect: () => 'The connection failed, or the endpoint closed it before responding. Check that the endpoint runs.',
  timeout_head: () => 'The endpoint did not begin its response in time.',
  timeout_body: (status) => `The endpoint responded with ${status}, but did not finish its response in time.`,
  unknown: () => 'The service stopped during the attempt. The event is sent again under the same number.',
}

/** The causes that an account owner can mend. Other codes say something about our network, and are not shown. */
const CAUSES: Record<string, string> = {
  ECONNREFUSED: 'The connection was refused: nothing listens at this host and port.',
  ECONNRESET: 'The endpoint, or something in front of it, closed the connection before the request.',
  CERT_HAS_EXPIRED: 'The certificate of the endpoint has expired.',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'The certificate of the endpoint is signed by itself, not by a public authority.',
  SELF_SIGNED_CERT_IN_CHAIN: 'The certificate of the endpoint comes from an authority that is not a public one.',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'The endpoint does not send the intermediate certificates of its chain.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate of the endpoint is for another host name.',
}

function causeOf(code: string | undefined): string | undefined {
  const cause = code === undefined ? undefined : CAUSES[code]
  return cause && `${cause} (${code})`
}

function shownPhases(phases: NonNullable<EndedAttempt['phases']>): MessageInitShape<typeof AttemptPhasesSchema> {
  const { dns, connect, tls, head, body } = phases
  return { dnsMs: dns, connectMs: connect, tlsMs: tls, headMs: head, bodyMs: body }
}
