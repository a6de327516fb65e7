import { setTimeout as sleep } from 'node:timers/promises'
import { fail } from '../errors.ts'
import { inTime } from '../in-time.ts'
import type { IdempotencyKey } from './key.ts'

export interface Answered<Response> {
  response: Response
  /** An earlier request had this key: nothing was done. */
  replayed: boolean
  /** The earlier request was another one. */
  mismatch: boolean
}

/** The answer of a key, and the hash of the request it belongs to. */
export interface First<Response> {
  response: Response
  replayed: boolean
  requestHash: string
}

/** How often another process's work is asked for. */
const POLL_MS = { first: 20, most: 250 }

/**
 * Requests of this process with the same key share the answer of the first of them, and all of its waiting. When it fails, those
 * that are the same request fail with it; another request tries for itself.
 */
export function createSharing<Response>() {
  const running = new Map<string, { requestHash: string; first: Promise<First<Response>> }>()

  return {
    /** Throws `transient_failure` when the first is not done by `untilMs`, a time of `performance.now()`. */
    async share(
      key: IdempotencyKey,
      untilMs: number,
      answerFirst: () => Promise<First<Response>>,
    ): Promise<Answered<Response>> {
      const name = JSON.stringify([key.accountId, key.scope, key.key])
      for (;;) {
        const other = running.get(name)
        if (!other) break
        try {
          const { response, requestHash } = await inTime(other.first, untilMs - performance.now(), tooLong)
          return { response, replayed: true, mismatch: requestHash !== key.requestHash }
        } catch (error) {
          // What was wrong with another request says nothing of this one.
          if (other.requestHash === key.requestHash || performance.now() >= untilMs) throw error
        }
      }
      const first = answerFirst().finally(() => running.delete(name))
      running.set(name, { requestHash: key.requestHash, first })
      const { response, replayed, requestHash } = await first
      return { response, replayed, mismatch: requestHash !== key.requestHash }
    },

    /** When no request with a key is running: they go on when their callers leave. */
    async idle(): Promise<void> {
      await Promise.allSettled([...running.values()].map(({ first }) => first))
    },
  }
}

/** The pauses of one that asks again and again, each longer than the last. Throws `transient_failure` when its time is over. */
export function pauses(untilMs: number): () => Promise<void> {
  let waitMs = POLL_MS.first
  return async () => {
    if (performance.now() >= untilMs) throw tooLong()
    await sleep(waitMs)
    waitMs = Math.min(waitMs * 2, POLL_MS.most)
  }
}

const tooLong = () =>
  fail(
    'transient_failure',
    'Another request with this Idempotency-Key has not ended yet. It is safe to repeat this one.',
  )
