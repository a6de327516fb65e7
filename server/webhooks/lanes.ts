import type { DeliveryEvent } from '../db/delivery-event.ts'

const MAX_IN_FLIGHT = 200
const MAX_QUEUED = 10_000
/** The most queued events of one account. More of them would only wait until they are stale. */
const MAX_QUEUED_PER_ACCOUNT = 2_000
// The most attempts in flight to one endpoint, at first and after many quick ones.
const FIRST_LIMIT = 10
const MAX_LIMIT = 64
/** An endpoint that frees the slot of an attempt within this time gets more slots. */
const PROMPT_MS = 500

/** The first attempts of one account, hence to one endpoint. */
interface Lane {
  queue: DeliveryEvent[]
  inFlight: number
  /** The most attempts in flight. */
  limit: number
}

/** An event whose attempt begins now, and the slot for it. */
export interface Turn {
  event: DeliveryEvent
  /** Raises or lowers the endpoint's limit, by the result of the attempt and its time. */
  adapt(isAcknowledged: boolean): void
  /** Frees the slot. */
  end(): void
}

export interface Lanes {
  /** Queues an event. Returns false when there is no room for it. */
  add(event: DeliveryEvent): boolean
  /** The events whose attempts can begin now. */
  turns(): Iterable<Turn>
  /** Empties the queues. */
  clear(): DeliveryEvent[]
}

interface LanesParts {
  /** Whether an event has waited for too long. */
  isStale(event: DeliveryEvent): boolean
  /** Is called with each event that leaves the queue because it is stale. */
  drop(event: DeliveryEvent): void
}

/**
 * Queues events for their first attempt and limits the attempts in flight. Accounts take turns, and an account never
 * takes more of the slots or of the queue than it leaves free: a few accounts whose endpoints keep their slots for
 * long leave some for all others.
 */
export function createLanes({ isStale, drop }: LanesParts): Lanes {
  const lanes = new Map<string, Lane>()
  /** Lanes that have a queued event and a slot for it, in the order of their turns. */
  const ready = new Set<Lane>()
  let queued = 0
  let inFlight = 0

  function add(event: DeliveryEvent): boolean {
    const lane = lanes.get(event.accountId) ?? { queue: [], inFlight: 0, limit: FIRST_LIMIT }
    if (lane.queue.length >= Math.min(MAX_QUEUED_PER_ACCOUNT, MAX_QUEUED - queued)) return false
    lanes.set(event.accountId, lane)
    lane.queue.push(event)
    queued++
    enter(lane)
    return true
  }

  function enter(lane: Lane): void {
    if (lane.queue.length > 0 && lane.inFlight < lane.limit) ready.add(lane)
  }

  function* turns(): Iterable<Turn> {
    for (const lane of ready) {
      const free = MAX_IN_FLIGHT - inFlight
      if (free === 0) break
      if (lane.inFlight >= free) continue
      ready.delete(lane)
      // Its limit may have fallen since it entered.
      if (lane.inFlight >= lane.limit) continue
      dropStale(lane)
      const event = lane.queue.shift()
      if (event === undefined) continue
      queued--
      yield begin(lane, event)
      // The lane goes to the end of the line: the others have their turns first.
      enter(lane)
    }
  }

  function dropStale({ queue }: Lane): void {
    while (queue.length > 0 && isStale(queue[0]!)) {
      queued--
      drop(queue.shift()!)
    }
  }

  function begin(lane: Lane, event: DeliveryEvent): Turn {
    const beganMs = performance.now()
    lane.inFlight++
    inFlight++
    return {
      event,
      adapt(isAcknowledged) {
        lane.limit = nextLimit(lane.limit, isAcknowledged, performance.now() - beganMs)
      },
      end() {
        lane.inFlight--
        inFlight--
        enter(lane)
        if (lane.inFlight === 0 && lane.queue.length === 0) lanes.delete(event.accountId)
      },
    }
  }

  return {
    add,
    turns,
    clear: () => [...lanes.values()].flatMap(({ queue }) => queue.splice(0)),
  }
}

/**
 * An endpoint gets more slots the sooner it frees them. One that acknowledges late goes back to the limit at which all
 * begin. One that does not acknowledge ends with one attempt at a time.
 */
function nextLimit(limit: number, isAcknowledged: boolean, heldMs: number): number {
  if (!isAcknowledged) return Math.max(limit >> 1, 1)
  if (limit < FIRST_LIMIT || heldMs < PROMPT_MS) return Math.min(limit + 1, MAX_LIMIT)
  return Math.max(limit >> 1, FIRST_LIMIT)
}
