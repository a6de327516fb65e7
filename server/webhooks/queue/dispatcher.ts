import type { DatabaseClock } from '../../db/clock.ts'
import { createCollector } from '../../db/collector.ts'
import type { Database } from '../../db/connect.ts'
import { run, uuidArray } from '../../db/statement.ts'
import type { DispatchedEvent } from '../../ledger/first-attempts-offer.ts'
import type { createAttempts } from '../attempt/attempt-once.ts'
import { keepTrying } from '../attempt/end.ts'
import { AttemptQueues, type AttemptSlot } from './attempt-queues.ts'

// A dispatch, in the order of the files. Its row comes in the commit of the outcome (ledger/tail.ts).
//
//   queue/dispatcher.ts, attempt-queues.ts   first attempts in a thread: which event goes next, fairly
//   attempt/begin.ts, target.ts              the endpoint as it is now, and whether the attempt is still ours
//   attempt/payload.ts, signature.ts         the bytes of the event, and their signature for this attempt
//   attempt/attempt-once.ts, post/post.ts    one POST: exchange.ts on a connection of connections.ts
//   attempt/end.ts, attempt-log.ts           the attempt stored, and its line in the log
//   queue/hand-over.ts, groups.ts            what was not acknowledged becomes a workflow, several events in one
//   queue/workflows.ts                       what the API asks of Temporal; workflows/ calls attempt-once.ts again
//   replays/                                 new dispatches for stored events: one, a message, a range

/** How long the first attempt of an event belongs to the process that stored it. */
export const LEASE_MS = 30_000
/** An event that has waited for longer has expired: its attempt would not end within the lease. */
const EXPIRED_MS = 12_000

export interface Dispatcher {
  /** How long the first attempt of an event belongs to this process. */
  leaseMs: number
  /** Takes over an event that was stored with its dispatch a moment ago. Never waits, never throws. */
  offer(event: DispatchedEvent): void
  /**
   * Accepts no more events, leaves the queued ones to Temporal, and resolves when the outcomes of all attempts are
   * stored.
   */
  drain(): Promise<void>
}

export interface DispatcherParts {
  db: Database
  clock: Pick<DatabaseClock, 'now'>
  attemptFirst: ReturnType<typeof createAttempts>['attemptFirst']
  /** The delay of the second attempt; undefined when the schedule has only one. */
  nextDelayMs: number | undefined
  /** Is called for each event whose first attempt is left to a workflow. */
  onLeave?(): void
  /** Is called with each fault of the service. A workflow then makes the attempt. */
  onError(error: unknown): void
}

/**
 * Makes first attempts, in a thread of the process that stored the event, right after the commit. An event that does
 * not fit gives up its lease and stays a row, which the hand-over finds.
 */
export function createDispatcher({ db, clock, attemptFirst, nextDelayMs, onLeave, onError }: DispatcherParts) {
  const giveUpLease = giveUpStep(db)
  /** What a drain waits for. */
  const openWork = new Set<Promise<unknown>>()
  // The lease began with the commit of the event, and the event may have waited on its way to this thread.
  const isExpired = ({ createdAtMs }: DispatchedEvent) => clock.now() - createdAtMs > EXPIRED_MS
  const queues = new AttemptQueues({ isExpired, drop: leave })
  let isDraining = false

  function offer(event: DispatchedEvent): void {
    if (isDraining || !queues.add(event)) leave(event)
    else beginAttempts()
  }

  function beginAttempts(): void {
    for (const slot of queues.acquireSlots()) track(attempt(slot))
  }

  async function attempt({ event, adjustLimit, release }: AttemptSlot): Promise<void> {
    try {
      const posting = await attemptFirst(event, nextDelayMs)
      if (posting === undefined) return leave(event)
      adjustLimit(posting.result.outcome === 'acked')
      track(posting.stored.catch(onError))
    } catch (error) {
      onError(error)
      leave(event)
    } finally {
      release()
      beginAttempts()
    }
  }

  /** Stores that no attempt was made. Should that fail, the end of the lease says that one may have been made. */
  function leave(event: DispatchedEvent): void {
    onLeave?.()
    track(keepTrying(() => giveUpLease(event)).catch(onError))
  }

  function track(work: Promise<unknown>): void {
    openWork.add(work)
    void work.finally(() => openWork.delete(work))
  }

  return {
    leaseMs: LEASE_MS,
    offer,
    async drain() {
      isDraining = true
      for (const event of queues.clear()) leave(event)
      while (openWork.size > 0) await Promise.all(openWork)
    },
    load: () => queues.load(),
  }
}

export const GIVE_UP_LEASE = `
  update open_dispatches set lease_until = null where id = any($1::uuid[]) and attempt = 1 and workflow_id is null`

function giveUpStep(db: Database): (event: DispatchedEvent) => Promise<unknown> {
  const giveUp = createCollector<{ json: string; accountId: string }, unknown>(
    async (rows) => {
      await run(db, GIVE_UP_LEASE, [uuidArray(rows.map(({ json }) => json))])
      return rows
    },
    { note: db.noteBatch('give_up_leases'), groupOf: ({ accountId }) => accountId },
  )
  return ({ dispatchId, accountId }) => giveUp({ json: dispatchId, accountId })
}
