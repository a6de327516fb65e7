import type { DatabaseClock } from '../db/clock.ts'
import { collector } from '../db/collector.ts'
import type { Database } from '../db/connect.ts'
import type { FirstAttempts, TargetRow } from '../events/dispatches.ts'
import type { DeliveryEvent } from '../events/payload.ts'
import type { createDeliveries } from './deliver-once.ts'

/** How long the first attempt of an event belongs to the process that stored it. */
export const LEASE_MS = 30_000
/** What has waited so long would not be made within the lease. */
const STALE_MS = 12_000
/** So long the endpoint that the commit found is the endpoint of now; then it is read again. */
const FRESH_MS = 1_000
const MAX_IN_FLIGHT = 200
const MAX_QUEUED = 10_000
/** Of one account: what is more would only wait until it is stale. */
const MAX_QUEUED_OF_ONE = 2_000
// Attempts in flight to one endpoint: more while it answers, less while it does not, so that one that hangs holds few.
const FIRST_LIMIT = 10
const MAX_LIMIT = 64

interface Offered {
  event: DeliveryEvent
  target: TargetRow
}

interface Lane {
  queue: Offered[]
  inFlight: number
  limit: number
}

export interface Dispatcher extends FirstAttempts {
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
 * and stays a row, which the hand-over loop finds. Accounts take turns.
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

  function offer(event: DeliveryEvent, target: TargetRow): void {
    const lane = lanes.get(event.accountId) ?? newLane()
    if (isDraining || queued >= MAX_QUEUED || lane.queue.length >= MAX_QUEUED_OF_ONE) {
      leave(event)
      return
    }
    lanes.set(event.accountId, lane)
    lane.queue.push({ event, target })
    queued++
    enter(lane)
    fill()
  }

  function enter(lane: Lane): void {
    if (lane.queue.length > 0 && lane.inFlight < lane.limit) ready.add(lane)
  }

  function fill(): void {
    for (const lane of ready) {
      if (inFlight === MAX_IN_FLIGHT) break
      ready.delete(lane)
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
    while (queue.length > 0 && ageOf(queue[0]!.event) > STALE_MS) {
      queued--
      leave(queue.shift()!.event)
    }
  }

  async function attempt(lane: Lane, { event, target }: Offered): Promise<void> {
    lane.inFlight++
    inFlight++
    try {
      const made = await deliverFirst(event, nextDelayMs, ageOf(event) < FRESH_MS ? target : undefined)
      if (made === undefined) return
      lane.limit = made.posted.outcome === 'acked' ? Math.min(lane.limit + 1, MAX_LIMIT) : Math.max(lane.limit >> 1, 1)
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
    track(giveUp(event.id).catch(failed))
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
      for (const { queue } of lanes.values()) for (const { event } of queue.splice(0)) leave(event)
      while (running.size > 0) await Promise.all(running)
    },
  }
}

const newLane = (): Lane => ({ queue: [], inFlight: 0, limit: FIRST_LIMIT })

const GIVE_UP = `update open_dispatches set lease_until = null where id = any($1::uuid[]) and attempt = 1 and workflow_id is null`

function giveUpStep(db: Database): (id: string) => Promise<boolean> {
  const give = collector<{ json: string }, boolean>(async (rows) => {
    await db.$client.unsafe(GIVE_UP, [`{${rows.map(({ json }) => json)}}`], { prepare: true })
    return rows.map(() => true)
  })
  return (id) => give({ json: id })
}
