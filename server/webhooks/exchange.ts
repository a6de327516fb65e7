import type { Connection } from './connections.ts'

export interface Request {
  path: string
  headers: Record<string, string>
  body: Buffer
}

export interface Answered {
  kind: 'answered'
  statusCode: number
  headMs: number
  bodyMs: number
  /** The first octets of the body, at most `KEPT_OCTETS`. */
  kept: Buffer
  /** Whether that is all of it. */
  isCut: boolean
  /** `whole`: to its end. `enough`: we stopped reading. `broken`: the connection ended. `late`: the time ended. */
  body: 'whole' | 'enough' | 'broken' | 'late'
}

/** No status line came: in time, or before the connection broke. */
export interface Unanswered {
  kind: 'late' | 'broken'
  /** Not one octet came. */
  isSilent: boolean
  /** TLS 1.3 has a client refused only after its handshake. */
  isTls: boolean
  headMs: number
}

export interface ExchangeLimits {
  /** Until the status line and headers are complete. */
  headMs: number
  /** From then on, until the end of the body. */
  bodyMs: number
  /** `performance.now()` at which all has to be over. */
  untilMs: number
}

const READ_OCTETS = 64 * 1_024
const KEPT_OCTETS = 1_024
const MAX_INTERIM = 10

interface Read {
  /** 0 until the head of the answer is there. */
  statusCode: number
  headDoneMs: number
  /** Answers of 1xx. */
  interim: number
  octets: number
  kept: Buffer[]
}

/**
 * One POST on one connection. A connection whose answer was not read to its end is destroyed. Rejects with the reason of `signal`
 * (nothing is known then of what the receiver did), and when the request itself is none.
 */
export function exchange(
  { client, socket }: Connection,
  { path, headers, body }: Request,
  { headMs, bodyMs, untilMs }: ExchangeLimits,
  signal?: AbortSignal,
): Promise<Answered | Unanswered> {
  return new Promise((resolve, reject) => {
    const startedMs = performance.now()
    const octetsBefore = socket.bytesRead
    const read: Read = { statusCode: 0, headDoneMs: 0, interim: 0, octets: 0, kept: [] }
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
          // 1xx says nothing yet (RFC 9110 15.2), and a flood of it would cost us more than its sender.
          if (statusCode < 200) return ++read.interim > MAX_INTERIM ? finish('broken') : undefined
          read.statusCode = statusCode
          read.headDoneMs = performance.now()
          if (isOver) return
          clearTimeout(timer)
          timer = setTimeout(late, Math.min(bodyMs, untilMs - read.headDoneMs))
        },
        onResponseData(_controller, chunk) {
          if (keep(read, chunk) > READ_OCTETS) finish('enough')
        },
        onResponseEnd: () => finish('whole'),
        onResponseError(_controller, error: NodeJS.ErrnoException) {
          if (error.code !== 'UND_ERR_INVALID_ARG') return finish('broken', error)
          stop()
          reject(error)
        },
      },
    )

    function finish(how: Answered['body'], error?: NodeJS.ErrnoException): void {
      if (isOver) return
      stop()
      if (how !== 'whole') socket.destroy()
      const isSilent = socket.bytesRead === octetsBefore
      const isTls = error?.code?.startsWith('ERR_SSL_') ?? false
      const headMs = performance.now() - startedMs
      const unanswered = { kind: how === 'late' ? 'late' : 'broken', isSilent, isTls, headMs } as const
      resolve(read.statusCode === 0 ? unanswered : answered(read, how, startedMs))
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

/** Returns the octets so far. */
function keep(read: Read, chunk: Buffer): number {
  if (read.octets < KEPT_OCTETS) read.kept.push(chunk.subarray(0, KEPT_OCTETS - read.octets))
  read.octets += chunk.length
  return read.octets
}

function answered({ statusCode, headDoneMs, octets, kept }: Read, body: Answered['body'], startedMs: number): Answered {
  return {
    kind: 'answered',
    statusCode,
    headMs: headDoneMs - startedMs,
    bodyMs: performance.now() - headDoneMs,
    kept: Buffer.concat(kept),
    isCut: body !== 'whole' || octets > KEPT_OCTETS,
    body,
  }
}
