import { create } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from '../gen/google/rpc/error_details_pb.ts'

/** Every error of every call: its word, its code on Connect and gRPC, its status on REST. */
export const ERRORS = {
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

export type ErrorReason = keyof typeof ERRORS

export interface FieldFault {
  /** Path of the field in JSON, such as `to[1]` or `attachments[0].content`. */
  field: string
  message: string
}

/** The one error of the API: carries its word in ErrorInfo, the fields at fault in BadRequest, a wait in RetryInfo and Retry-After. */
export function fail(
  reason: ErrorReason,
  message: string,
  more: { fields?: FieldFault[]; retryAfterSeconds?: number; cause?: unknown } = {},
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
  return error
}

/** How many faults an error lists. What has more can be at fault everywhere. */
export const MAX_FAULTS = 20
const NAMED_FAULTS = 5

/**
 * Refuses fields, each in words that follow its name: the first five in one sentence, the first 20 as details, the others as a
 * number. `unlisted` are those beside the ones given.
 */
export function failFields(reason: ErrorReason, faults: FieldFault[], unlisted = 0): ConnectError {
  const fields = faults.slice(0, MAX_FAULTS)
  const named = fields.slice(0, NAMED_FAULTS).map(({ field, message }) => `${field} ${message}`)
  const others = faults.length + unlisted - named.length
  const more = others === 0 ? '' : `; and ${others} more`
  return fail(reason, `${named.join('; ')}${more}.`, { fields })
}

/** The word of an error made by `fail`, undefined for any other. */
export function reasonOf(error: unknown): ErrorReason | undefined {
  if (!(error instanceof ConnectError)) return undefined
  const reason = error.findDetails(ErrorInfoSchema).find((info) => info.domain === 'verdict')?.reason
  return reason !== undefined && reason in ERRORS ? (reason as ErrorReason) : undefined
}

/** What an error made by `fail` says, as every answer shows it. */
export function wordsOfError(error: ConnectError) {
  const [retry] = error.findDetails(RetryInfoSchema)
  const violations = error.findDetails(BadRequestSchema).flatMap((request) => request.fieldViolations)
  const fields: FieldFault[] = violations.map(({ field, description }) => ({ field, message: description }))
  const retryAfterSeconds = retry?.retryDelay && Number(retry.retryDelay.seconds)
  return { reason: reasonOf(error)!, message: error.rawMessage, retryAfterSeconds, fields }
}

/** What the caller may see of anything thrown: our own errors as they are, everything else as `transient_failure` without detail. */
export function hideUnexpected(error: unknown): ConnectError {
  if (reasonOf(error)) return error as ConnectError
  return fail('transient_failure', 'A fault of the service. Nothing was sent; it is safe to retry.', { cause: error })
}

/**
 * There is no honest answer: the message may have been sent and its outcome could not be stored. The connection is closed
 * without one, because any error would say that it is safe to retry.
 */
export class NoAnswer extends Error {
  constructor(options: { cause: unknown }) {
    super('the outcome could not be stored', options)
    this.name = 'NoAnswer'
  }
}
