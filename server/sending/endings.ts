import { createPause } from '../async/pauses.ts'
import { isLocked, isRowFault } from '../db/collector.ts'
import type { Database } from '../db/connect.ts'
import { reasonOf } from '../errors.ts'
import type { Claim } from '../ledger/claim.ts'
import { createHold, HOLD_EVERY_MS } from '../ledger/hold.ts'

/** A process that was paused past its lease asks once more all the same: the sweeper's outcome is better than none. */
const LATE_MS = 5_000
/** When the lease has less time left, the message is held. */
const HOLD_BEFORE_MS = 10_000

/** Until when an end is tried: for its lease, and for LATE_MS at least. */
export const lastTryMs = (leaseUntilMs: number) => Math.max(leaseUntilMs, performance.now() + LATE_MS)

/** Stores the end of a claim. */
export type StoreEnding = <T>(
  claim: Pick<Claim, 'messageId' | 'claimId' | 'accountId'>,
  leaseUntilMs: number,
  store: () => Promise<T>,
  onError?: (error: unknown) => void,
) => Promise<T>

/**
 * Creates the function that stores what this process knows of a send, however long that takes, even when its caller has
 * left, and before the sweeper. `store` runs until it returns, or throws an error made by `fail`. After the lease a row
 * that PostgreSQL refuses is left to the sweeper, which has less to store. A shutdown waits for what is not stored
 * (`db.recording.idle`).
 */
export function createStoreEnding(db: Database): StoreEnding {
  const hold = createHold(db)

  async function store(...[claim, leaseUntilMs, work, onError]: Parameters<StoreEnding>): Promise<unknown> {
    const refusedUntilMs = lastTryMs(leaseUntilMs)
    let holdMs = leaseUntilMs - HOLD_BEFORE_MS
    const pause = createPause()
    for (;;) {
      try {
        return await work()
      } catch (error) {
        onError?.(error)
        const isRefused = isRowFault(error)
        const nowMs = performance.now()
        if (reasonOf(error) || isClosed(error) || (isRefused && nowMs > refusedUntilMs)) throw error
        if (!isRefused && nowMs > holdMs) {
          holdMs = nowMs + HOLD_EVERY_MS
          hold(claim).catch(() => {})
        }
        // What waits for a lock is in front of a sweeper that comes later.
        if (!isLocked(error)) await pause({ ref: nowMs < leaseUntilMs })
      }
    }
  }

  return (claim, leaseUntilMs, work, onError) => {
    const stored = store(claim, leaseUntilMs, work, onError) as ReturnType<typeof work>
    db.recording.track(stored)
    return stored
  }
}

/** The pool was closed: the process ends. */
const isClosed = (error: unknown) => (error as NodeJS.ErrnoException | null)?.code === 'CONNECTION_ENDED'
