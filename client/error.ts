import type { ErrorReason, FieldFault } from './gen/contract.ts'

/**
 * Why a call failed: an error code of the service, or a fault on the way to it.
 *
 * - `connection_failed`: no response arrived.
 * - `timed_out`: no response arrived in time.
 * - `unexpected_response`: the response is not one of the service, such as an error page of a proxy.
 */
export type ErrorCode = ErrorReason | 'connection_failed' | 'timed_out' | 'unexpected_response'

export interface ErrorFields {
  code: ErrorCode
  status?: number
  requestId?: string
  details?: FieldFault[]
  retryAfter?: number
  idempotencyKey?: string
  cause?: unknown
}

/** A call that failed. A bounce or a rejection is not an error. */
export class VerdictError extends Error {
  override readonly name = 'VerdictError'
  readonly code: ErrorCode
  /** HTTP status. Absent when there was no response. */
  readonly status: number | undefined
  /** Identifier of the request in the log of the service. */
  readonly requestId: string | undefined
  /** The invalid fields of the request. */
  readonly details: FieldFault[]
  /** Seconds to wait before you try again. */
  readonly retryAfter: number | undefined
  /**
   * The key that every attempt of the call carried. Without a response you do not know whether the email was sent: a
   * repeat of the call with this key returns its outcome, and sends it only if no attempt did.
   */
  readonly idempotencyKey: string | undefined

  constructor(message: string, { cause, ...fields }: ErrorFields) {
    super(message, { cause })
    this.code = fields.code
    this.status = fields.status
    this.requestId = fields.requestId
    this.details = fields.details ?? []
    this.retryAfter = fields.retryAfter
    this.idempotencyKey = fields.idempotencyKey
  }
}
