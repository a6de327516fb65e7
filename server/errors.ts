import { create } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from '../gen/google/rpc/error_details_pb.ts'

/** Every error of the public API: its error code, its code on Connect and gRPC, and its HTTP status on REST. */
export const PUBLIC_ERRORS = {
  invalid_payload: { code: Code.InvalidArgument, status: 400 },
  invalid_address: { code: Code.InvalidArgument, status: 400 },
  invalid_api_key: { code: Code.Unauthenticated, status: 401 },
  domain_not_verified: { code: Code.PermissionDenied, status: 403 },
  insufficient_scope: { code: Code.PermissionDenied, status: 403 },
  not_found: { code: Code.NotFound, status: 404 },
  method_not_allowed: { code: Code.Unimplemented, status: 405 },
  webhook_not_configured: { code: Code.FailedPrecondition, status: 409 },
  event_expired: { code: Code.NotFound, status: 410 },
  payload_too_large: { code: Code.ResourceExhausted, status: 413 },
  unsupported_media_type: { code: Code.InvalidArgument, status: 415 },
  rate_limit_exceeded: { code: Code.ResourceExhausted, status: 429 },
  transient_failure: { code: Code.Unavailable, status: 500 },
} as const

/** The dashboard's own errors. A call with an API key never gets one, so they are not in the public reference. */
const DASHBOARD_ERRORS = {
  invalid_session: { code: Code.Unauthenticated, status: 401 },
  wrong_credentials: { code: Code.Unauthenticated, status: 401 },
  wrong_code: { code: Code.Unauthenticated, status: 401 },
  wrong_origin: { code: Code.PermissionDenied, status: 403 },
  wrong_host: { code: Code.PermissionDenied, status: 421 },
  insufficient_role: { code: Code.PermissionDenied, status: 403 },
  confirmation_required: { code: Code.PermissionDenied, status: 403 },
  wrong_password: { code: Code.PermissionDenied, status: 403 },
  wrong_state: { code: Code.FailedPrecondition, status: 409 },
  not_invited: { code: Code.PermissionDenied, status: 403 },
  own_invitation: { code: Code.PermissionDenied, status: 403 },
  last_owner: { code: Code.FailedPrecondition, status: 409 },
} as const

export const ERRORS = { ...PUBLIC_ERRORS, ...DASHBOARD_ERRORS }

export type ErrorReason = keyof typeof ERRORS
/** The error codes of the public reference. */
export type PublicErrorReason = keyof typeof PUBLIC_ERRORS

export interface FieldFault {
  /** Path of the field in JSON, such as `to[1]` or `attachments[0].content`. */
  field: string
  message: string
}

/**
 * Creates the one kind of error that the API returns. ErrorInfo holds the error code, BadRequest the faulty fields, and
 * RetryInfo and Retry-After a wait. `gist` is the message without values of the request: see `gistOf`.
 */
export function fail(
  reason: ErrorReason,
  message: string,
  more: { fields?: FieldFault[]; retryAfterSeconds?: number; cause?: unknown; gist?: string } = {},
): ConnectError {
  const { retryAfterSeconds } = more
  const metadata = retryAfterSeconds === undefined ? undefined : { 'retry-after': String(retryAfterSeconds) }
  const error = new ConnectError(message, ERRORS[reason].code, metadata, undefined, more.cause)
  error.details.push({ desc: ErrorInfoSchema, value: create(ErrorInfoSchema, { reason, domain: 'verdict' }) })
  if (more.fields?.length) {
    const fieldViolations = more.fields.map(({ field, message }) => ({ field, description: message }))
    error.details.push({ desc: BadRequestSchema, value: create(BadRequestSchema, { fieldViolations }) })
  }
  if (retryAfterSeconds !== undefined) {
    const retryDelay = { seconds: BigInt(retryAfterSeconds), nanos: 0 }
    error.details.push({ desc: RetryInfoSchema, value: create(RetryInfoSchema, { retryDelay }) })
  }
  return Object.assign(error, { gist: more.gist })
}

/** What an error says, in a fixed sentence that may be kept; undefined when its code says all. */
export const gistOf = (error: ConnectError & { gist?: string }): string | undefined => error.gist

/** How many faults an error lists. A request with more could be faulty everywhere. */
export const MAX_FAULTS = 20
const NAMED_FAULTS = 5

/**
 * Creates the error for faulty fields. Each message follows the name of its field: the first five in one sentence, the
 * first 20 as details, the others as a number. `unlisted` is how many faults there are beside these.
 */
export function failFields(reason: ErrorReason, faults: FieldFault[], unlisted = 0): ConnectError {
  const fields = faults.slice(0, MAX_FAULTS)
  const named = fields.slice(0, NAMED_FAULTS).map(({ field, message }) => `${field} ${message}`)
  const others = faults.length + unlisted - named.length
  const sentence = `${named.join('; ')}${others === 0 ? '' : `; and ${others} more`}`.replaceAll('?; ', '? ')
  return fail(reason, sentence.endsWith('?') ? sentence : `${sentence}.`, { fields })
}

/** Creates the error for one faulty field. */
export const failField = (field: string, message: string): ConnectError =>
  failFields('invalid_payload', [{ field, message }])

/** The error code of an error that `fail` created; undefined for any other. */
export function reasonOf(error: unknown): ErrorReason | undefined {
  if (!(error instanceof ConnectError)) return undefined
  const reason = error.findDetails(ErrorInfoSchema).find((info) => info.domain === 'verdict')?.reason
  return reason !== undefined && reason in ERRORS ? (reason as ErrorReason) : undefined
}

/** The contents of an error that `fail` created, as every response shows them. */
export function contentsOfError(error: ConnectError) {
  const [retry] = error.findDetails(RetryInfoSchema)
  const violations = error.findDetails(BadRequestSchema).flatMap((request) => request.fieldViolations)
  const fields: FieldFault[] = violations.map(({ field, description }) => ({ field, message: description }))
  const retryAfterSeconds = retry?.retryDelay && Number(retry.retryDelay.seconds)
  return { reason: reasonOf(error)!, message: error.rawMessage, retryAfterSeconds, fields }
}

/**
 * The error that a caller may see: errors of `fail` unchanged, everything else as `transient_failure` without detail.
 */
export function hideUnexpected(error: unknown): ConnectError {
  if (reasonOf(error)) return error as ConnectError
  return fail('transient_failure', 'A fault of the service. Nothing was sent; it is safe to retry.', { cause: error })
}

/**
 * There is no honest response: the message may have been sent, and its outcome could not be stored. The connection is
 * closed without a response, because any error would say that it is safe to retry.
 */
export class OutcomeUnknown extends Error {
  constructor(options: { cause: unknown }) {
    super('the outcome could not be stored', options)
    this.name = 'OutcomeUnknown'
  }
}
