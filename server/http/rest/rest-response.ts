import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { ConnectError } from '@connectrpc/connect'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { contentsOfError, ERRORS } from '../../errors.ts'
import { shown } from '../call.ts'

export const JSON_TYPE = 'application/json; charset=utf-8'

/** Sends an error with the body of REST, and the headers that HTTP wants beside it. */
export function sendError(error: unknown, { call }: FastifyRequest, reply: FastifyReply): void {
  const visible = shown(error, call)
  if (call.left) return void reply.hijack()
  const { status: usual, body } = errorBody(visible, call.id)
  const status = isBusySignIn(call.path, body) ? 503 : usual
  if (status === 401) reply.header('www-authenticate', 'Bearer')
  if (body.retry_after !== undefined) reply.header('retry-after', String(body.retry_after))
  if (call.raw.method === 'HEAD') sendHead(status, body, reply)
  else reply.code(status).send(body)
}

/** HTTP/2 refuses the body that Fastify would write here. */
function sendHead(status: number, body: ErrorBody, reply: FastifyReply): void {
  reply.headers(jsonText(body).headers).hijack()
  // The responses of HTTP/1.1 and HTTP/2 both accept these, but their types have no common signature.
  ;(reply.raw as ServerResponse).writeHead(status, reply.getHeaders() as OutgoingHttpHeaders).end()
}

/** An error body as text, with the headers that describe it, for responses that Fastify does not write. */
export function jsonText(body: ErrorBody) {
  const text = JSON.stringify(body)
  return { text, headers: { 'content-type': JSON_TYPE, 'content-length': String(Buffer.byteLength(text)) } }
}

/** The body of every error on REST. */
export interface ErrorBody {
  error: string
  message: string
  retry_after?: number
  request_id: string
  details?: { field: string; message: string }[]
}

/** The REST form of an error made by `fail`. */
export function errorBody(error: ConnectError, requestId: string): { status: number; body: ErrorBody } {
  const { reason, message, retryAfterSeconds, fields } = contentsOfError(error)
  const body: ErrorBody = { error: reason, message, request_id: requestId }
  if (retryAfterSeconds !== undefined) body.retry_after = retryAfterSeconds
  if (fields.length > 0) body.details = fields
  return { status: ERRORS[reason].status, body }
}

/** A server that is too busy to sign a person in says how long to wait. Under /api/v1 this error is always a 500. */
function isBusySignIn(path: string | undefined, { error, retry_after }: ErrorBody): boolean {
  return path?.startsWith('/api/auth/') === true && error === 'transient_failure' && retry_after !== undefined
}
