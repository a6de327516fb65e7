import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2'
import type { DescMethod } from '@bufbuild/protobuf'
import { Code, ConnectError, type ContextValues, createContextKey, createContextValues } from '@connectrpc/connect'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { logFieldsKey, remoteAddressKey, requestIdKey } from '../caller.ts'
import { hideUnexpected, OutcomeUnknown, reasonOf } from '../errors.ts'

declare module 'fastify' {
  interface FastifyRequest {
    call: Call
  }
}

export type RawRequest = IncomingMessage | Http2ServerRequest
export type RawResponse = ServerResponse | Http2ServerResponse

// Created once: an error for every finished request would cost more than the request's own work.
const FINISHED = new ConnectError('The call is finished.', Code.Canceled)
export const LEFT = new ConnectError('The caller left.', Code.Canceled)
/** The one error that connect-fastify takes in silence. It prints any other, and sends an empty 200 in its place. */
export const UNANSWERED = new ConnectError('The call was closed without a response.', Code.Aborted)
const LINGER_MS = 5_000

/** Keeps a browser from taking JSON that holds a caller's text for a page or a script. Every response has it. */
export const NO_SNIFF = { 'x-content-type-options': 'nosniff' }

/** Where calls are recorded: while they last, and as a log line when they have ended. */
export interface CallRecords {
  log: Logger
  inFlight: Set<Call>
  ended(call: Call, responded: boolean): void
}

/** How the interceptors and the gate find their call. */
export const callKey = createContextKey<Call | undefined>(undefined, { description: 'call' })

/** The call that these values belong to. Every request of a client has one. */
export function callOf(values: ContextValues | undefined): Call {
  const call = values?.get(callKey)
  if (!call) throw new Error('the request has no call')
  return call
}

/** One request from its head to the end of its response, on every protocol. */
export class Call {
  readonly id: string
  readonly raw: RawRequest
  readonly response: RawResponse
  /** Carries the headers of every response to this call. */
  readonly reply: FastifyReply
  /** Behind a trusted proxy, the address of the proxy's client. */
  readonly remoteAddress: string
  readonly log: Logger
  readonly values: ContextValues = createContextValues()
  readonly startedAt = performance.now()
  protocol: 'rest' | 'connect' | 'grpc' | 'grpc-web' = 'rest'
  method: DescMethod | undefined
  /** The pattern of the path; undefined for a path that does not exist, which may hold anything. */
  path: string | undefined
  /** For the log: the error code, `ok` without an error. */
  code = 'ok'
  /** The error that the caller got. */
  error: ConnectError | undefined
  /**
   * Returns the body's share of the byte budget; may be called twice. Work goes on when the caller leaves, with its
   * share.
   */
  release: (() => void) | undefined
  /** Set when the response is finished or the caller has left before. */
  closed: ConnectError | undefined
  /** When the caller's deadline passes, on the clock of `performance.now`. Only calls served in process set it. */
  deadlineMs: number | undefined
  #deadline: NodeJS.Timeout | undefined
  #controller: AbortController | undefined

  constructor(request: FastifyRequest, reply: FastifyReply, { log, inFlight, ended }: CallRecords) {
    const { raw } = request
    const response = reply.raw as RawResponse
    this.id = requestIdOf(raw)
    // A response may hold a secret or a person's address: no cache keeps it. Pages override this.
    reply.header('x-request-id', this.id).header('cache-control', 'no-store').headers(NO_SNIFF)
    this.raw = raw
    this.response = response
    this.reply = reply
    this.remoteAddress = request.ip ?? ''
    this.log = log
    this.values.set(requestIdKey, this.id).set(remoteAddressKey, this.remoteAddress)
    this.values.set(logFieldsKey, {}).set(callKey, this)
    inFlight.add(this)
    const end = (responded: boolean) => {
      if (!inFlight.delete(this)) return
      this.#end(responded)
      ended(this, responded)
    }
    response.once('close', () => end(response.writableFinished))
    // HTTP/2 emits `close` only when the caller, too, has ended; the stream tells when the response is out.
    if ('stream' in response) response.stream.once('finish', () => end(true))
  }

  /** Aborted when the call is closed or its deadline passes. Created at its first use, because few calls use it. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.closed) this.#controller.abort(this.closed)
    return this.#controller.signal
  }

  /** Aborts the signal after the time that the caller gives the call. */
  expireAfter(timeoutMs: number): void {
    this.deadlineMs = performance.now() + timeoutMs
    this.#deadline = setTimeout(() => {
      this.#controller ??= new AbortController()
      this.#controller.abort(new ConnectError('The deadline has passed.', Code.DeadlineExceeded))
    }, timeoutMs)
  }

  /** Whether the caller has visibly left. A body that a reset cut off looks like a complete one. */
  get left(): boolean {
    return this.closed !== undefined || this.raw.aborted || ('stream' in this.raw && this.raw.stream.closed)
  }

  /** Closes the connection, or the stream, of a call that has no honest response. */
  hangUp(): void {
    this.closed = UNANSWERED
    this.code = 'no_answer'
    if ('stream' in this.response) this.response.stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    else this.response.destroy()
  }

  #end(responded: boolean): void {
    clearTimeout(this.#deadline)
    if (!responded && !this.closed) this.code = 'client_left'
    this.closed ??= responded ? FINISHED : LEFT
    this.#controller?.abort(this.closed)
    if (!this.raw.complete) linger(this.raw)
  }
}

const SANE_ID = /^[\x21-\x7e]{1,128}$/

/** The caller's X-Request-Id when it is 1 to 128 printable characters, otherwise a new id. */
function requestIdOf(raw: RawRequest): string {
  const given = raw.headers['x-request-id']
  return typeof given === 'string' && SANE_ID.test(given) ? given : randomUUID()
}

/**
 * Reads on for a while after a response, so that a caller that is still writing can read it. On HTTP/2 the caller reads
 * it in any case: closing the stream only tells the caller to stop.
 */
function linger(raw: RawRequest): void {
  raw.resume()
  const stop = () => ('stream' in raw ? raw.stream.close(constants.NGHTTP2_NO_ERROR) : raw.destroy())
  const timer = setTimeout(stop, 'stream' in raw ? 500 : LINGER_MS).unref()
  raw.once('close', () => clearTimeout(timer))
}

/**
 * The part of an error that the caller may see; notes its code for the log. Only this function logs the cause of an
 * unexpected fault. It logs it once, because an error it has returned has no cause left.
 */
export function shown(error: unknown, call: Call): ConnectError {
  if (error instanceof OutcomeUnknown) {
    call.log.error({ request_id: call.id, err: error }, 'closed without a response')
    call.hangUp()
    return UNANSWERED
  }
  if (call.left) {
    call.log.debug({ request_id: call.id, err: error }, 'failed after the caller left')
    return call.closed ?? LEFT
  }
  const visible = hideUnexpected(error)
  call.code = reasonOf(visible) ?? 'transient_failure'
  call.error = visible
  if (call.code === 'transient_failure' && visible.cause !== undefined) {
    call.log.error({ request_id: call.id, err: visible.cause }, 'unexpected fault')
    visible.cause = undefined
  }
  return visible
}
