import { createPause } from '../async/pauses.ts'
import { byTime } from '../async/timeout.ts'
import { CALL_TIMES } from '../config/limits.ts'
import { fail } from '../errors.ts'
import type { IdempotencyKey } from './idempotency-key.ts'

export interface SharedResponse<Response> {
  response: Response
  /** An earlier request had this key: this one did nothing. */
  replayed: boolean
  /** The earlier request had another body. */
  mismatch: boolean
}

/** The response of a key, and the hash of the request that it belongs to. */
export interface FirstResponse<Response> {
  response: Response
  replayed: boolean
  requestHash: string
}

/**
 * Requests of this process with the same idempotency key share the response of the first one. When that fails, equal
 * requests fail with it, and a request with another body makes its own attempt. Used for sends and for batches.
 */
export function createSharing<Response>(leaseMs: number) {
  const running = new Map<string, { requestHash: string; first: Promise<FirstResponse<Response>> }>()

  return {
    /**
     * Throws `transient_failure` when the first is not done within its lease and the time of a repeat: by `untilMs`, a
     * time of `performance.now()`. `onWait` is called when another request has to end first.
     */
    async share(
      key: IdempotencyKey,
      respondFirst: (untilMs: number) => Promise<FirstResponse<Response>>,
      onWait?: () => void,
    ): Promise<SharedResponse<Response>> {
      const untilMs = performance.now() + leaseMs + CALL_TIMES.repeatMs
      const name = JSON.stringify([key.accountId, key.scope, key.key])
      for (;;) {
        const other = running.get(name)
        if (!other) break
        onWait?.()
        try {
          const { response, requestHash } = await byTime(other.first, untilMs, tooLong)
          return { response, replayed: true, mismatch: requestHash !== key.requestHash }
        } catch (error) {
          // The error of a request with another body says nothing about this one.
          if (other.requestHash === key.requestHash || performance.now() >= untilMs) throw error
        }
      }
      const first = respondFirst(untilMs).finally(() => running.delete(name))
      running.set(name, { requestHash: key.requestHash, first })
      const { response, replayed, requestHash } = await first
      return { response, replayed, mismatch: requestHash !== key.requestHash }
    },

    /** Resolves when no request with a key is running: they go on when their callers leave. */
    async idle(): Promise<void> {
      await Promise.allSettled([...running.values()].map(({ first }) => first))
    },
  }
}

/** Creates the pause before another process's result is read again. It throws `transient_failure` after `untilMs`. */
export function pausesUntil(untilMs: number): () => Promise<void> {
  const pause = createPause(20, 250)
  return async () => {
    if (performance.now() >= untilMs) throw tooLong()
    await pause()
  }
}

const tooLong = () =>
  fail(
    'transient_failure',
    'Another request with this Idempotency-Key has not ended yet. It is safe to repeat this one.',
  )
