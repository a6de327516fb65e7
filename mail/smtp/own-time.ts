import { unblocked } from './alarm.ts'
import type { Failure } from './failure.ts'

// Time of ours is never theirs: a server that was silent for a small part of its time, because this process took the
// rest, is no silent server. Ours are the waits for a place, for the pace of the site and for permission, and the times
// in which the event loop was blocked. Look-ups take time that the recipient's servers do not have.

/** A server that we kept waiting for this time may have given up because of it. */
const PATIENCE_MS = 3_000

/** Whether a server closed, or refused what was no command, because we kept it waiting. */
export function hasGivenUp({ how, keptMs = 0 }: Failure): boolean {
  return (how === 'closed' || how === 'refused') && keptMs >= PATIENCE_MS
}

export type OwnTime = ReturnType<typeof createOwnTime>

/** Waits of ours that took less of the time before the dot than this share changed nothing. */
const SHARE = 0.1

/** Whether a server was silent for all of its time, which nothing has cut short. */
export const hadAllOf = (serverMs: number, silentMs: number) => silentMs >= serverMs * (1 - SHARE)

/**
 * The time of a delivery that was ours.
 * @param spanMs the time that a server has before the final dot when nothing of ours takes some of it
 * @param earlierMs what was ours of that time before the delivery
 * @param lookUpMs what the look-ups took of it
 */
export function createOwnTime(spanMs: number, earlierMs = 0, lookUpMs = 0) {
  const stalledBeforeMs = unblocked.stalledMs()
  let waitedMs = earlierMs
  /** Connections may wait at the same time. */
  let waits = 0
  let waitingSinceMs = 0

  const waitingMs = () => (waits > 0 ? unblocked.now() - waitingSinceMs : 0)
  const ownMs = () => waitedMs + waitingMs() + unblocked.stalledMs() - stalledBeforeMs
  const tookTime = () => ownMs() >= spanMs * SHARE || ownMs() + lookUpMs >= spanMs / 2

  return {
    ms: ownMs,
    /** Counts a wait of ours. */
    async during<T>(work: Promise<T>): Promise<T> {
      if (waits++ === 0) waitingSinceMs = unblocked.now()
      try {
        return await work
      } finally {
        if (waits === 1) waitedMs += waitingMs()
        waits--
      }
    },
    /** Whether our waits are why no time was left, or half of it was gone before the servers of the site had any. */
    tookTime,
    /**
     * The failure, or a fault of ours where the server gave up on us, our waits took some of the time that was lacking,
     * or the site's servers had less than half of it. A server that was silent for half of the time for a reply is
     * silent all the same.
     * @param serverMs how long that is
     */
    blame(failure: Failure, serverMs: number): Failure {
      const { how, silentMs = 0, keptMs = 0 } = failure
      if (hasGivenUp(failure)) return ours(failure, `the server waited ${inSeconds(keptMs)} for this service`)
      if (how !== 'timeout' && how !== 'slow') return failure
      if (silentMs >= Math.min(serverMs, spanMs) / 2) return failure
      if (!tookTime() && silentMs + ownMs() < serverMs) return failure
      return ours(failure, `waits of this service took ${inSeconds(ownMs())}, look-ups ${inSeconds(lookUpMs)}`)
    },
  }
}

const ours = (failure: Failure, detail: string): Failure => ({ ...failure, how: 'local', reply: undefined, detail })

const inSeconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`
