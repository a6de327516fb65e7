import type { DatabaseClock } from '../db/clock.ts'
import { collector } from '../db/collector.ts'
import type { Database } from '../db/connect.ts'
import type { DeliveryEvent } from '../db/delivery-event.ts'
import type { createDeliveries } from './deliver-once.ts'
import { keepTrying } from './end.ts'

/** How long the first attempt of an event belongs to the process that stored it. */
export const LEASE_MS = 30_000
/** What has waited so long would not be made within the lease. */
const STALE_MS = 12_000
const MAX_IN_FLIGHT = 200
const MAX_QUEUED = 10_000
/** Of one account: more would only wait until they are stale. */
const MAX_QUEUED_OF_ONE = 2_000
// Attempts in flight to one endpoint.
const FIRST_LIMIT = 10
const MAX_LIMIT = 64
/** An endpoint that frees the slot of an attempt within this time gets more of them at a time. */
const PROMPT_MS = 500

interface Lane {
  queue: DeliveryEvent[]
  inFlight: number
  limit: number
}

export interface Dispatcher {
  /** How long the first attempt of an event belongs to this process. */
  leaseMs: number
  /** Takes over an event that was stored with its dispatch a moment ago. Never waits, never throws. */
  offer(event: DeliveryEvent): void
  /** Takes no more, leaves what is queued to Temporal, and resolves when what was begun is written down. */
  drain(): Promise<void>
}

export interface DispatcherParts {
  db: Database
  clock: Pick<DatabaseClock, 'now'>
  deliverFirst: ReturnType<typeof createDeliveries>['deliverFirst']
  /** Until the second attempt; undefined when the schedule has one only. */
  nextDelayMs: number | undefined
  /** Hears of faults of our own. The attempt is made by a workflow then. */
  failed(error: unknown): void
}

/**
 * Makes first attempts, in the process that stored the event, right after the commit. Bounded: what does not fit gives its lease up
 * and stays a row, which the hand-over loop finds. Accounts take turns, and an account takes no more of the slots and of the queue
 * than it leaves free: a few whose endpoints hold their slots for long leave some for all others.
 */
export function createDispatcher({ db, clock, deliverFirst, nextDelayMs, failed }: DispatcherParts): Dispatcher {
  const lanes = new Map<string, Lane>()
  /** Lanes with something to do and room to do it, in the order of their turns. */
  const ready = new Set<Lane>()
  const running = new Set<Promise<unknown>>()
  let queued = 0
  let inFlight = 0
  let isDraining = false
  const giveUp = giveUpStep(db)
  /** Of the lease too, which began with the commit of the event: on its way here it may have waited. */
  const ageOf = ({ createdAtMs }: DeliveryEvent) => clock.now() - createdAtMs

  function offer(event: DeliveryEvent): void {
    const lane = lanes.get(event.accountId) ?? newLane()
    if (isDraining || lane.queue.length >= Math.min(MAX_QUEUED_OF_ONE, MAX_QUEUED - queued)) {
      leave(event)
      return
    }
    lanes.set(event.accountId, lane)
    lane.queue.push(event)
    queued++
    enter(lane)
    fill()
  }

  function enter(lane: Lane): void {
    if (lane.queue.length > 0 && lane.inFlight < lane.limit) ready.add(lane)
  }

  function fill(): void {
    for (const lane of ready) {
      const free = MAX_IN_FLIGHT - inFlight
      if (free === 0) break
      if (lane.inFlight >= free) continue
      ready.delete(lane)
      // Its limit has fallen since it entered.
      if (lane.inFlight >= lane.limit) continue
      dropStale(lane)
      const next = lane.queue.shift()
      if (next === undefined) continue
      queued--
      track(attempt(lane, next))
      // To the end of the line: the others have their turns first.
      enter(lane)
    }
  }

  function dropStale({ queue }: Lane): void {
    while (queue.length > 0 && ageOf(queue[0]!) > STALE_MS) {
      queued--
      leave(queue.shift()!)
    }
  }

  async function attempt(lane: Lane, event: DeliveryEvent): Promise<void> {
    lane.inFlight++
    inFlight++
    const beganMs = performance.now()
    try {
      const made = await deliverFirst(event, nextDelayMs)
      if (made === undefined) return leave(event)
      const isAcknowledged = made.posted.outcome === 'acked'
      lane.limit = nextLimit(lane.limit, isAcknowledged, performance.now() - beganMs)
      track(made.ended.catch(failed))
    } catch (error) {
      failed(error)
      leave(event)
    } finally {
      lane.inFlight--
      inFlight--
      enter(lane)
      if (lane.inFlight === 0 && lane.queue.length === 0) lanes.delete(event.accountId)
      fill()
    }
  }

  /** Its row says from now on that no attempt was made. Should that fail, the end of the lease says that one may have been. */
  function leave(event: DeliveryEvent): void {
    track(keepTrying(() => giveUp(event.id)).catch(failed))
  }

  function track(work: Promise<unknown>): void {
    running.add(work)
    void work.finally(() => running.delete(work))
  }

  return {
    leaseMs: LEASE_MS,
    offer,
    async drain() {
      isDraining = true
      for (const { queue } of lanes.values()) for (const event of queue.splice(0)) leave(event)
      while (running.size > 0) await Promise.all(running)
    },
  }
}

const newLane = (): Lane => ({ queue: [], inFlight: 0, limit: FIRST_LIMIT })

/**
 * An endpoint has more attempts at a time the sooner it frees their slots: one that acknowledges late comes back to the limit that
 * all begin with, one that does not acknowledge has one at a time in the end.
 */
function nextLimit(limit: number, isAcknowledged: boolean, heldMs: number): number {
  if (!isAcknowledged) return Math.max(limit >> 1, 1)
  if (limit < FIRST_LIMIT || heldMs < PROMPT_MS) return Math.min(limit + 1, MAX_LIMIT)
  return Math.max(limit >> 1, FIRST_LIMIT)
}

export const GIVE_UP = `update open_dispatches set lease_until = null where id = any($1::uuid[]) and attempt = 1 and workflow_id is null`

function giveUpStep(db: Database): (id: string) => Promise<boolean> {
  const give = collector<{ json: string }, boolean>(async (rows) => {
    await db.$client.unsafe(GIVE_UP, [`{${rows.map(({ json }) => json)}}`], { prepare: true })
    return rows.map(() => true)
  })
  return (id) => give({ json: id })
}
