import type { Failure } from './failure.ts'
import { stalledMs, watchUnblocked } from './stalls.ts'

// Time of ours is never theirs: a server that was silent for a small part of its time, because this process took the
// rest, is no silent server. Ours are the waits for a place, for the pace of the site and for permission, and the times
// in which the event loop was blocked.

export type OwnTime = ReturnType<typeof createOwnTime>

/** The time of a delivery that was ours. */
export function createOwnTime() {
  const stalledBeforeMs = stalledMs()
  let waitedMs = 0

  return {
    /** Counts a wait of ours. */
    async during<T>(work: Promise<T>): Promise<T> {
      const unblockedMs = watchUnblocked()
      try {
        return await work
      } finally {
        waitedMs += unblockedMs()
      }
    },
    /** The failure, told as ours where our waits left the server less than half of its time. */
    blame(failure: Failure, serverMs: number): Failure {
      const { how, silentMs } = failure
      if (how !== 'timeout' || silentMs === undefined || silentMs >= serverMs / 2) return failure
      const ownMs = waitedMs + stalledMs() - stalledBeforeMs
      if (silentMs + ownMs < serverMs) return failure
      return { ...failure, how: 'local', detail: `waits of this service took ${(ownMs / 1_000).toFixed(1)} s` }
    },
  }
}
