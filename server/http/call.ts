import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2'
import type { DescMethod } from '@bufbuild/protobuf'
import { Code, ConnectError, type ContextValues, createContextKey, createContextValues } from '@connectrpc/connect'
import type { Logger } from 'pino'
import { logFieldsKey, requestIdKey } from '../caller.ts'
import { hideUnexpected, NoAnswer, reasonOf } from '../errors.ts'

export type RawRequest = IncomingMessage | Http2ServerRequest
export type RawResponse = ServerResponse | Http2ServerResponse

// Made once: an error for every finished request would cost more than the request's own work.
const FINISHED = new ConnectError('The call is finished.', Code.Canceled)
export const LEFT = new ConnectError('The caller left.', Code.Canceled)
const UNANSWERED = new ConnectError('The call was closed without an answer.', Code.Aborted)
const LINGER_MS = 5_000

/** Where calls are kept: as long as they last, and as a line when they have ended. */
export interface CallRecords {
  log: Logger
  inFlight: Set<Call>
  ended(call: Call, answered: boolean): void
}

/** How the interceptors and the gate find the call they belong to. */
export const callKey = createContextKey<Call | undefined>(undefined, { description: 'call' })

/** One request from its head to the end of its answer, whatever the protocol. */
export class Call {
  readonly id: string
  readonly raw: RawRequest
  readonly response: RawResponse
  /** Behind a trusted proxy that of its client. */
  readonly remoteAddress: string
  readonly log: Logger
  readonly values: ContextValues = createContextValues()
  readonly startedAt = performance.now()
  /** Of the answer, whatever it will be. */
  readonly headers: Record<string, string>
  protocol: 'rest' | 'connect' | 'grpc' | 'grpc-web' = 'rest'
  method: DescMethod | undefined
  /** The pattern of the path; undefined for one that does not exist, since it may hold anything. */
  path: string | undefined
  /** For the log: the word of the error, `ok` without one. */
  code = 'ok'
  /** Gives the body's share of the byte budget back; may be called again. The share outlasts the caller: the work may go on. */
  release: (() => void) | undefined
  /** Set when the answer is finished or the caller left before. */
  closed: ConnectError | undefined
  #controller: AbortController | undefined

  constructor(raw: RawRequest, response: RawResponse, remoteAddress: string, { log, inFlight, ended }: CallRecords) {
    this.id = requestIdOf(raw)
    // An answer may hold a secret or a person's address: no cache keeps it. Pages say otherwise themselves.
    this.headers = { 'x-request-id': this.id, 'cache-control': 'no-store' }
    this.raw = raw
    this.response = response
    this.remoteAddress = remoteAddress
    this.log = log
    this.values.set(requestIdKey, this.id).set(logFieldsKey, {}).set(callKey, this)
    inFlight.add(this)
    const end = (answered: boolean) => {
      if (!inFlight.delete(this)) return
      this.#end(answered)
      ended(this, answered)
    }
    response.once('close', () => end(response.writableFinished))
    // On HTTP/2 that comes only when the caller, too, has ended; the stream says when the answer is out.
    if ('stream' in response) response.stream.once('finish', () => end(true))
  }

  /** Aborted when the call is closed. Made when first asked for: few calls look at theirs. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.closed) this.#controller.abort(this.closed)
    return this.#controller.signal
  }

  /** Whether the caller is known to have left. A body cut off by a reset looks like one that ended. */
  get left(): boolean {
    return this.closed !== undefined || this.raw.aborted || ('stream' in this.raw && this.raw.stream.closed)
  }

  /** Closes the connection, or the stream, of a call that has no honest answer. */
  hangUp(): void {
    this.closed = UNANSWERED
    this.code = 'no_answer'
    if ('stream' in this.response) this.response.stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    else this.response.destroy()
  }

  #end(answered: boolean): void {
    if (!answered && !this.closed) this.code = 'client_left'
    this.closed ??= answered ? FINISHED : LEFT
    this.#controller?.abort(this.closed)
    if (!this.raw.complete) linger(this.raw)
  }
}

const SANE_ID = /^[\x21-\x7e]{1,128}$/

/** The caller's X-Request-Id when it is 1 to 128 printable characters, a new one otherwise. */
function requestIdOf(raw: RawRequest): string {
  const given = raw.headers['x-request-id']
  return typeof given === 'string' && SANE_ID.test(given) ? given : randomUUID()
}

/**
 * Reads on for a while after an answer, so that a caller still writing gets to see it, but not for ever. On HTTP/2 the answer is
 * read in any case: closing the stream only tells the caller to stop.
 */
function linger(raw: RawRequest): void {
  raw.resume()
  const stop = () => ('stream' in raw ? raw.stream.close(constants.NGHTTP2_NO_ERROR) : raw.destroy())
  const timer = setTimeout(stop, 'stream' in raw ? 500 : LINGER_MS).unref()
  raw.once('close', () => clearTimeout(timer))
}

/**
 * What the caller may see of an error, its word noted for the log. The cause of a fault of ours is logged here and nowhere else:
 * once, since an error that was shown has no cause left to show.
 */
export function shown(error: unknown, call: Call): ConnectError {
  if (error instanceof NoAnswer) {
    call.log.error({ request_id: call.id, err: error }, 'closed without an answer')
    call.hangUp()
    return UNANSWERED
  }
  if (call.left) {
    call.log.debug({ request_id: call.id, err: error }, 'failed after the caller left')
    return call.closed ?? LEFT
  }
  const seen = hideUnexpected(error)
  call.code = reasonOf(seen)!
  if (call.code === 'transient_failure' && seen.cause !== undefined) {
    call.log.error({ request_id: call.id, err: seen.cause }, 'unexpected fault')
    seen.cause = undefined
  }
  return seen
}
