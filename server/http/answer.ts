import type { ServerResponse } from 'node:http'
import type { ConnectError } from '@connectrpc/connect'
import { ERRORS, wordsOfError } from '../errors.ts'
import { type Call, shown } from './call.ts'

export const JSON_TYPE = 'application/json; charset=utf-8'

/** Ends a call with an answer of known size. */
export function answer(
  { headers: common, raw, response }: Call,
  status: number,
  type: string,
  body: string | Buffer,
  more?: Record<string, string>,
): void {
  const length = Buffer.byteLength(body)
  const headers = { 'content-type': type, 'content-length': length, ...common, ...more }
  // Both kinds of response take these; their types agree on nothing.
  ;(response as ServerResponse).writeHead(status, headers).end(raw.method === 'HEAD' ? undefined : body)
}

/** Answers an error on REST: the documented body, and what HTTP wants beside it. */
export function answerError(error: unknown, call: Call, more?: Record<string, string>): void {
  const seen = shown(error, call)
  if (call.left) return
  const { status, body } = errorBody(seen, call.id)
  const headers: Record<string, string> = { ...more }
  if (status === 401) headers['www-authenticate'] = 'Bearer'
  if (body.retry_after !== undefined) headers['retry-after'] = String(body.retry_after)
  answer(call, status, JSON_TYPE, JSON.stringify(body), headers)
}

/** The body of every error on REST. */
export interface ErrorBody {
  error: string
  message: string
  retry_after?: number
  request_id: string
  details?: { field: string; message: string }[]
}

/** An error made by `fail` as REST shows it. */
export function errorBody(error: ConnectError, requestId: string): { status: number; body: ErrorBody } {
  const { reason, message, retryAfterSeconds, fields } = wordsOfError(error)
  const body: ErrorBody = { error: reason, message, request_id: requestId }
  if (retryAfterSeconds !== undefined) body.retry_after = retryAfterSeconds
  if (fields.length > 0) body.details = fields
  return { status: ERRORS[reason].status, body }
}
