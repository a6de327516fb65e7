import type { DispatchedEvent } from '../../ledger/first-attempts-offer.ts'

/** Attempts in flight, to all endpoints. */
const MAX_IN_FLIGHT = 200
const MAX_QUEUED = 10_000
/** The most queued events of one endpoint. More of them would only wait until they expire. */
const MAX_QUEUED_PER_ENDPOINT = 2_000
// An endpoint's limit of attempts in flight: at first, and at most.
const FIRST_LIMIT = 10
const MAX_LIMIT = 64
/** An acknowledgement within this time raises the endpoint's limit. */
const PROMPT_MS = 500

/** The queued events and the attempts in flight of one endpoint. */
interface EndpointQueue {
  endpointId: string
  events: DispatchedEvent[]
  inFlight: number
  /** The most attempts in flight. */
  limit: number
}

/** The slot of an attempt that begins now. */
export interface AttemptSlot {
  event: DispatchedEvent
  /** Raises or lowers the endpoint's limit. Call it when the attempt's outcome is known. */
  adjustLimit(isAcknowledged: boolean): void
  /** Frees the slot. Call it once. */
  release(): void
}

interface AttemptQueues {
  /** Queues an event. Returns false when the endpoint's queue is full. */
  add(event: DispatchedEvent): boolean
  /** Acquires a slot for each event whose attempt can begin now. */
  acquireSlots(): Iterable<AttemptSlot>
  /** How many attempts are in flight, and how many events wait for theirs. */
  load(): { inFlight: number; queued: number }
  /** Empties the queues and returns their events. Attempts in flight go on. */
  clear(): DispatchedEvent[]
}

interface AttemptQueuesParts {
  /** Whether an event has waited for too long. */
  isExpired(event: DispatchedEvent): boolean
  /** Called with each event that leaves its queue because it has expired. */
  drop(event: DispatchedEvent): void
}

/**
 * Queues events for their first attempt, and limits the attempts in flight; the dispatcher is its only user.
 * Endpoints are served round-robin. An endpoint holds at most as many slots, and as much of the queue, as are still
 * free: a few slow endpoints leave some for all others.
 */
export function createAttemptQueues({ isExpired, drop }: AttemptQueuesParts): AttemptQueues {
  const queues = new Map<string, EndpointQueue>()
  /** Queues with an event and with attempts left up to their limit, in the order in which they are served. */
  const ready = new Set<EndpointQueue>()
  let queued = 0
  let inFlight = 0

  function add(event: DispatchedEvent): boolean {
    const { endpointId } = event
    const queue = queues.get(endpointId) ?? { endpointId, events: [], inFlight: 0, limit: FIRST_LIMIT }
    if (queue.events.length >= Math.min(MAX_QUEUED_PER_ENDPOINT, MAX_QUEUED - queued)) return false
    queues.set(endpointId, queue)
    queue.events.push(event)
    queued++
    updateReady(queue)
    return true
  }

  function updateReady(queue: EndpointQueue): void {
    if (queue.events.length > 0 && queue.inFlight < queue.limit) ready.add(queue)
    else ready.delete(queue)
  }

  function* acquireSlots(): Iterable<AttemptSlot> {
    for (const queue of ready) {
      const free = MAX_IN_FLIGHT - inFlight
      if (free === 0) break
      if (queue.inFlight >= free) continue
      ready.delete(queue)
      dropExpired(queue)
      const event = queue.events.shift()
      if (event !== undefined) {
        queued--
        yield hold(queue, event)
      }
      // Adds the queue behind the others, so that the loop comes to it again.
      updateReady(queue)
      forgetIfEmpty(queue)
    }
  }

  function dropExpired({ events }: EndpointQueue): void {
    for (let [first] = events; first && isExpired(first); [first] = events) {
      queued--
      events.shift()
      drop(first)
    }
  }

  function hold(queue: EndpointQueue, event: DispatchedEvent): AttemptSlot {
    const startedMs = performance.now()
    queue.inFlight++
    inFlight++
    return {
      event,
      adjustLimit(isAcknowledged) {
        queue.limit = nextLimit(queue.limit, isAcknowledged, performance.now() - startedMs)
        updateReady(queue)
      },
      release() {
        queue.inFlight--
        inFlight--
        updateReady(queue)
        forgetIfEmpty(queue)
      },
    }
  }

  /** Forgets an endpoint without events and attempts, and its limit. */
  function forgetIfEmpty(queue: EndpointQueue): void {
    if (queue.inFlight === 0 && queue.events.length === 0) queues.delete(queue.endpointId)
  }

  function clear(): DispatchedEvent[] {
    queued = 0
    ready.clear()
    return [...queues.values()].flatMap((queue) => {
      const events = queue.events.splice(0)
      forgetIfEmpty(queue)
      return events
    })
  }

  return { add, acquireSlots, load: () => ({ inFlight, queued }), clear }
}

/**
 * An acknowledgement within PROMPT_MS raises an endpoint's limit by one. A slower one halves it, down to FIRST_LIMIT,
 * and raises a limit below that by one. Any other outcome halves it, down to one attempt at a time.
 */
function nextLimit(limit: number, isAcknowledged: boolean, durationMs: number): number {
  if (!isAcknowledged) return Math.max(limit >> 1, 1)
  if (limit < FIRST_LIMIT || durationMs < PROMPT_MS) return Math.min(limit + 1, MAX_LIMIT)
  return Math.max(limit >> 1, FIRST_LIMIT)
}
