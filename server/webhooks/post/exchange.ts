import { cleanText } from '../../../net/clean-text.ts'
import type { Phases } from '../../../net/dial.ts'
import type { CauseCode } from './causes.ts'
import type { Connection } from './connections.ts'

export interface Request {
  path: string
  headers: Record<string, string>
  body: Buffer
}

export interface Response {
  statusCode: number
  /** The first characters of `Location`, when the status is that of a redirect. */
  location?: string
  /** The first characters of `Content-Encoding`: a body that is compressed, although we ask for none. */
  encoding?: string
  /** The first octets of the body, at most `EXCERPT_OCTETS`. */
  excerpt: Buffer
  /** Whether the body is longer than the excerpt, or did not end. */
  isCut: boolean
  /** Whether the time was over before the end of the body. */
  isLate: boolean
  isSilent: false
  phases: Phases
}

/** No status line came. */
export interface NoResponse {
  statusCode: undefined
  /** Whether the time was over; otherwise the connection ended. */
  isLate: boolean
  /** The connection ended, and not a single octet had come. */
  isSilent: boolean
  /** Why the connection ended, as far as that is known. */
  code?: CauseCode
  phases: Phases
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

interface Head extends Pick<Response, 'statusCode' | 'location' | 'encoding'> {
  doneMs: number
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
  const { promise, resolve, reject } = Promise.withResolvers<Response | NoResponse>()
  const startedMs = performance.now()
  const octetsBefore = socket.bytesRead
  let head: Head | undefined
  let interim = 0
  let octets = 0
  // Its size is fixed: a body in thousands of pieces takes no more memory than one in a single piece.
  const excerpt = Buffer.alloc(EXCERPT_OCTETS)

  const late = () => breakOff({ isLate: true })
  let timer = setTimeout(late, Math.min(headMs, untilMs - startedMs))
  const leave = () => abandon(signal?.reason)
  signal?.addEventListener('abort', leave)
  if (signal?.aborted) leave()
  else
    client.dispatch(
      { method: 'POST', path, headers, body },
      {
        onRequestStart() {},
        onResponseStart(_controller, statusCode, { location, 'content-encoding': encoding }) {
          // A 1xx response is not the final one (RFC 9110 15.2). A flood of them would cost us more than its sender.
          if (statusCode < 200) return ++interim > MAX_INTERIM ? breakOff() : undefined
          const doneMs = performance.now()
          const isRedirect = statusCode >= 300 && statusCode < 400
          head = {
            statusCode,
            location: isRedirect ? firstOf(location) : undefined,
            encoding: firstOf(encoding),
            doneMs,
          }
          clearTimeout(timer)
          timer = setTimeout(late, Math.min(bodyMs, untilMs - doneMs))
        },
        onResponseData(_controller, chunk) {
          chunk.copy(excerpt, octets)
          octets += chunk.length
          if (octets > MAX_READ_OCTETS) breakOff()
        },
        onResponseEnd: () => end(octets > EXCERPT_OCTETS, false),
        onResponseError(_controller, error: NodeJS.ErrnoException) {
          if (error.code === 'UND_ERR_INVALID_ARG') abandon(error)
          else breakOff({ error })
        },
      },
    )

  // To destroy the socket ends the request, which calls these once more. Only the first call counts.

  function breakOff({ isLate = false, error }: { isLate?: boolean; error?: NodeJS.ErrnoException } = {}): void {
    socket.destroy()
    end(true, isLate, error)
  }

  function abandon(reason: unknown): void {
    socket.destroy()
    reject(reason)
  }

  function end(isCut: boolean, isLate: boolean, error?: NodeJS.ErrnoException): void {
    const nowMs = performance.now()
    if (head) {
      const { doneMs, ...response } = head
      const phases = { head: doneMs - startedMs, body: nowMs - doneMs }
      resolve({ ...response, excerpt: excerpt.subarray(0, octets), isCut, isLate, isSilent: false, phases })
    } else {
      const isSilent = !isLate && socket.bytesRead === octetsBefore
      const code = error && (connection.faultCode ?? codeOf(error, isSilent))
      resolve({ statusCode: undefined, isLate, isSilent, code, phases: { head: nowMs - startedMs } })
    }
  }

  return promise.finally(() => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', leave)
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
