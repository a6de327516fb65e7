import { cleanText } from '../../../net/clean-text.ts'
import type { CauseCode } from './causes.ts'
import type { Connection } from './connections.ts'

export interface Request {
  path: string
  headers: Record<string, string>
  body: Buffer
}

export interface Response {
  kind: 'response'
  statusCode: number
  /** The first characters of `Location`, when the status is that of a redirect. */
  location?: string
  headMs: number
  bodyMs: number
  /** The first characters of `Content-Encoding`: a body that is compressed, although we ask for none. */
  encoding?: string
  /** The first octets of the body, at most `EXCERPT_OCTETS`. */
  excerpt: Buffer
  /** Whether the body is longer than the excerpt, or did not end. */
  isCut: boolean
  /**
   * `whole`: the body ended. `enough`: we stopped reading. `broken`: the connection ended. `late`: the time was over.
   */
  body: 'whole' | 'enough' | 'broken' | 'late'
}

/** No status line came: not in time (`late`), or not before the connection ended (`broken`). */
export interface NoResponse {
  kind: 'late' | 'broken'
  /** Not a single octet came. */
  isSilent: boolean
  /** Why the connection ended, as far as that is known. */
  code?: CauseCode
  headMs: number
}

interface ExchangeLimits {
  /** Until the status line and headers are complete. */
  headMs: number
  /** From then until the end of the body. */
  bodyMs: number
  /** The deadline of the whole exchange, by `performance.now()`. */
  untilMs: number
}

const MAX_READ_OCTETS = 64 * 1_024
const EXCERPT_OCTETS = 1_024
const MAX_INTERIM = 10

interface PartialResponse {
  /** 0 until the head is complete. */
  statusCode: number
  location?: string
  encoding?: string
  headDoneMs: number
  /** The number of 1xx responses. */
  interim: number
  octets: number
  excerpt: Buffer[]
}

/**
 * Makes one POST on one connection. Destroys a connection whose response was not read to its end. Rejects with the
 * reason of `signal` (what the receiver did is then unknown), and when undici refuses the request.
 */
export function exchange(
  connection: Connection,
  { path, headers, body }: Request,
  { headMs, bodyMs, untilMs }: ExchangeLimits,
  signal?: AbortSignal,
): Promise<Response | NoResponse> {
  const { client, socket } = connection
  return new Promise((resolve, reject) => {
    const startedMs = performance.now()
    const octetsBefore = socket.bytesRead
    const partial: PartialResponse = { statusCode: 0, headDoneMs: 0, interim: 0, octets: 0, excerpt: [] }
    let isOver = false
    const late = () => finish('late')
    let timer = setTimeout(late, Math.min(headMs, untilMs - startedMs))
    if (signal?.aborted) return abandon()
    signal?.addEventListener('abort', abandon)
    client.dispatch(
      { method: 'POST', path, headers, body },
      {
        onRequestStart() {},
        onResponseStart(_controller, statusCode, { location, 'content-encoding': encoding }) {
          // A 1xx response is not the final one (RFC 9110 15.2). A flood of them would cost us more than its sender.
          if (statusCode < 200) return ++partial.interim > MAX_INTERIM ? finish('broken') : undefined
          partial.statusCode = statusCode
          if (statusCode >= 300 && statusCode < 400) partial.location = firstOf(location)
          partial.encoding = firstOf(encoding)
          partial.headDoneMs = performance.now()
          if (isOver) return
          clearTimeout(timer)
          timer = setTimeout(late, Math.min(bodyMs, untilMs - partial.headDoneMs))
        },
        onResponseData(_controller, chunk) {
          if (append(partial, chunk) > MAX_READ_OCTETS) finish('enough')
        },
        onResponseEnd: () => finish('whole'),
        onResponseError(_controller, error: NodeJS.ErrnoException) {
          if (error.code !== 'UND_ERR_INVALID_ARG') return finish('broken', error)
          stop()
          reject(error)
        },
      },
    )

    function finish(how: Response['body'], error?: NodeJS.ErrnoException): void {
      if (isOver) return
      stop()
      if (how !== 'whole') socket.destroy()
      resolve(partial.statusCode > 0 ? responseOf(partial, how, startedMs) : noResponse(how, error))
    }

    function noResponse(how: Response['body'], error?: NodeJS.ErrnoException): NoResponse {
      const isSilent = socket.bytesRead === octetsBefore
      const code = error && (connection.faultCode ?? codeOf(error, isSilent))
      const headMs = performance.now() - startedMs
      return { kind: how === 'late' ? 'late' : 'broken', isSilent, ...(code && { code }), headMs }
    }

    function abandon(): void {
      stop()
      socket.destroy()
      reject(signal?.reason)
    }

    function stop(): void {
      isOver = true
      clearTimeout(timer)
      signal?.removeEventListener('abort', abandon)
    }
  })
}

/** An error of undici's parser: it has the octets that are no HTTP, and sometimes no code. */
interface ParserError extends NodeJS.ErrnoException {
  data?: string
}

/** The first octets of a TLS record: an alert, or a handshake. */
const TLS_RECORD = /^[\x15\x16]\x03/

function codeOf({ name, code, data }: ParserError, isSilent: boolean): CauseCode | undefined {
  if (name === 'HTTPParserError') return data !== undefined && TLS_RECORD.test(data) ? 'tls_response' : 'not_http'
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return 'head_too_large'
  if (code === 'UND_ERR_SOCKET') return isSilent ? 'closed' : undefined
  return code
}

const MAX_SHOWN = 500

/** A header of the receiver's as text that can be stored and shown. */
function firstOf(header: string | string[] | undefined): string | undefined {
  const text = [header].flat()[0]
  return text ? cleanText(text.slice(0, MAX_SHOWN)) : undefined
}

/** Adds a part of the body. Returns the number of octets so far. */
function append(partial: PartialResponse, chunk: Buffer): number {
  if (partial.octets < EXCERPT_OCTETS) partial.excerpt.push(chunk.subarray(0, EXCERPT_OCTETS - partial.octets))
  partial.octets += chunk.length
  return partial.octets
}

function responseOf(partial: PartialResponse, body: Response['body'], startedMs: number): Response {
  const { statusCode, location, encoding, headDoneMs, octets, excerpt } = partial
  return {
    kind: 'response',
    statusCode,
    location,
    encoding,
    headMs: headDoneMs - startedMs,
    bodyMs: performance.now() - headDoneMs,
    excerpt: Buffer.concat(excerpt),
    isCut: body !== 'whole' || octets > EXCERPT_OCTETS,
    body,
  }
}
