import type { DispatchedEvent } from '../../ledger/first-attempts-offer.ts'

/**
 * Events that come within this time of each other go to the thread of first attempts together. To wake the thread, its
 * connections and their other ends for each event costs a quarter more than for thirty events.
 */
const BATCH_MS = 25

/** Passes events on in batches. The first event after a pause does not wait. */
export function createEventBatches(passOn: (events: DispatchedEvent[]) => void) {
  let lastBatchMs = Number.NEGATIVE_INFINITY
  let batch: DispatchedEvent[] = []

  function add(event: DispatchedEvent): void {
    if (batch.push(event) > 1) return
    const waitMs = lastBatchMs + BATCH_MS - performance.now()
    if (waitMs > 0) setTimeout(flush, waitMs)
    else queueMicrotask(flush)
  }

  /** Passes on the events that wait. */
  function flush(): void {
    lastBatchMs = performance.now()
    passOn(batch)
    batch = []
  }

  return { add, flush }
}
