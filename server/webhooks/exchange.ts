import type { Connection } from './connections.ts'

export interface Request {
  path: string
  headers: Record<string, string>
  body: Buffer
}

export interface Response {
  kind: 'response'
  statusCode: number
  headMs: number
  bodyMs: number
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
  /** With TLS 1.3 a server refuses a client only after the client's handshake has ended. */
  isTls: boolean
  headMs: number
}

export interface ExchangeLimits {
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
  { client, socket }: Connection,
  { path, headers, body }: Request,
  { headMs, bodyMs, untilMs }: ExchangeLimits,
  signal?: AbortSignal,
): Promise<Response | NoResponse> {
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
        onResponseStart(_controller, statusCode) {
          // A 1xx response is not the final one (RFC 9110 15.2). A flood of them would cost us more than its sender.
          if (statusCode < 200) return ++partial.interim > MAX_INTERIM ? finish('broken') : undefined
          partial.statusCode = statusCode
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
      const isSilent = socket.bytesRead === octetsBefore
      const isTls = error?.code?.startsWith('ERR_SSL_') ?? false
      const headMs = performance.now() - startedMs
      const noResponse = { kind: how === 'late' ? 'late' : 'broken', isSilent, isTls, headMs } as const
      resolve(partial.statusCode === 0 ? noResponse : responseOf(partial, how, startedMs))
    }

    function abandon(): void {
      stop()
      socket.destroy()
      reject(signal!.reason)
    }

    function stop(): void {
      isOver = true
      clearTimeout(timer)
      signal?.removeEventListener('abort', abandon)
    }
  })
}

/** Adds a part of the body. Returns the number of octets so far. */
function append(partial: PartialResponse, chunk: Buffer): number {
  if (partial.octets < EXCERPT_OCTETS) partial.excerpt.push(chunk.subarray(0, EXCERPT_OCTETS - partial.octets))
  partial.octets += chunk.length
  return partial.octets
}

function responseOf(partial: PartialResponse, body: Response['body'], startedMs: number): Response {
  const { statusCode, headDoneMs, octets, excerpt } = partial
  return {
    kind: 'response',
    statusCode,
    headMs: headDoneMs - startedMs,
    bodyMs: performance.now() - headDoneMs,
    excerpt: Buffer.concat(excerpt),
    isCut: body !== 'whole' || octets > EXCERPT_OCTETS,
    body,
  }
}
