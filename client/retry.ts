import type { ErrorCode, VerdictError } from './error.ts'

/** The longest pause: the rate limit counts the requests of a minute. A wait for the end of a day is the caller's. */
const LONGEST_PAUSE_MS = 60_000
const FIRST_PAUSE_MS = 500

/** Waits this long, or until the signal aborts, and then throws its reason. */
export type Pause = (ms: number, signal?: AbortSignal) => Promise<void>

type Rule = 'always' | 'when repeatable'

/** The failures after which a call is retried. `always`: the service did nothing. */
const RETRIED: { [code in ErrorCode]?: Rule } = {
  rate_limit_exceeded: 'always',
  transient_failure: 'always',
  connection_failed: 'when repeatable',
  timed_out: 'when repeatable',
}
/** What a proxy says when it did not reach the service, or lost its response. */
const NO_RESPONSE: ReadonlySet<number | undefined> = new Set([502, 503, 504])

/**
 * How many milliseconds to wait before the next attempt. `undefined`: the call must not be retried, or the service asks
 * for a longer wait than a call should take.
 */
export function pauseBefore(error: VerdictError, retries: number, isRepeatable: boolean): number | undefined {
  const isLost = error.code === 'unexpected_response' && NO_RESPONSE.has(error.status)
  const rule = isLost ? 'when repeatable' : RETRIED[error.code]
  if (!rule || (rule === 'when repeatable' && !isRepeatable)) return undefined
  // Callers that failed together come back apart.
  const pauseMs = FIRST_PAUSE_MS * 2 ** retries * (1 + Math.random())
  const askedMs = (error.retryAfter ?? 0) * 1_000
  return askedMs > LONGEST_PAUSE_MS ? undefined : Math.max(askedMs, pauseMs)
}

export const pauseFor: Pause = (ms, signal) =>
  new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', abort, { once: true })
  })
