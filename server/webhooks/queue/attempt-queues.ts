import { asManyAsLeft, FairSlots, type Release } from '../../../net/fair-slots.ts'
import { createKeyedAmounts } from '../../../net/keyed-amounts.ts'
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
  accountId: string
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

interface AttemptQueuesParts {
  /** Whether an event has waited for too long. */
  isExpired(event: DispatchedEvent): boolean
  /** Called with each event that leaves its queue because it has expired. */
  drop(event: DispatchedEvent): void
}

/**
 * Queues events for their first attempt, and limits the attempts in flight; the dispatcher is its only user.
 * Endpoints are served round-robin. An account holds at most as many slots, and as much of the queue, as are still
 * free: a few with slow endpoints leave some for all others.
 */
export class AttemptQueues {
  readonly #parts: AttemptQueuesParts
  readonly #queues = new Map<string, EndpointQueue>()
  /** Queues with an event and with attempts left up to their limit, in the order in which they are served. */
  readonly #ready = new Set<EndpointQueue>()
  readonly #queuedOf = createKeyedAmounts()
  readonly #slots = new FairSlots({ slots: MAX_IN_FLIGHT, perAccount: asManyAsLeft })
  #queued = 0

  constructor(parts: AttemptQueuesParts) {
    this.#parts = parts
  }

  /** Queues an event. Returns false when the endpoint's queue is full. */
  add(event: DispatchedEvent): boolean {
    const { accountId, endpointId } = event
    const queue = this.#queues.get(endpointId) ?? { accountId, endpointId, events: [], inFlight: 0, limit: FIRST_LIMIT }
    const free = MAX_QUEUED - this.#queued - this.#queuedOf.of(accountId)
    if (queue.events.length >= Math.min(MAX_QUEUED_PER_ENDPOINT, free)) return false
    this.#queues.set(endpointId, queue)
    queue.events.push(event)
    this.#countQueued(queue, 1)
    this.#updateReady(queue)
    return true
  }

  /** Acquires a slot for each event whose attempt can begin now. */
  *acquireSlots(): Iterable<AttemptSlot> {
    for (const queue of this.#ready) {
      if (this.load().inFlight === MAX_IN_FLIGHT) break
      const release = this.#slots.tryAcquire(queue.accountId)
      if (!release) continue
      this.#ready.delete(queue)
      this.#dropExpired(queue)
      const event = queue.events.shift()
      if (event === undefined) release()
      else {
        this.#countQueued(queue, -1)
        yield this.#hold(queue, event, release)
      }
      // Adds the queue behind the others, so that the loop comes to it again.
      this.#updateReady(queue)
      this.#forgetIfEmpty(queue)
    }
  }

  /** How many attempts are in flight, and how many events wait for theirs. */
  load(): { inFlight: number; queued: number } {
    return { inFlight: this.#slots.load().inUse, queued: this.#queued }
  }

  /** Empties the queues and returns their events. Attempts in flight go on. */
  clear(): DispatchedEvent[] {
    this.#ready.clear()
    return [...this.#queues.values()].flatMap((queue) => {
      const events = queue.events.splice(0)
      this.#countQueued(queue, -events.length)
      this.#forgetIfEmpty(queue)
      return events
    })
  }

  #updateReady(queue: EndpointQueue): void {
    if (queue.events.length > 0 && queue.inFlight < queue.limit) this.#ready.add(queue)
    else this.#ready.delete(queue)
  }

  #dropExpired(queue: EndpointQueue): void {
    const { events } = queue
    for (let [first] = events; first && this.#parts.isExpired(first); [first] = events) {
      this.#countQueued(queue, -1)
      events.shift()
      this.#parts.drop(first)
    }
  }

  #hold(queue: EndpointQueue, event: DispatchedEvent, release: Release): AttemptSlot {
    const startedMs = performance.now()
    queue.inFlight++
    return {
      event,
      adjustLimit: (isAcknowledged) => {
        queue.limit = nextLimit(queue.limit, isAcknowledged, performance.now() - startedMs)
        this.#updateReady(queue)
      },
      release: () => {
        release()
        queue.inFlight--
        this.#updateReady(queue)
        this.#forgetIfEmpty(queue)
      },
    }
  }

  #countQueued({ accountId }: EndpointQueue, events: number): void {
    this.#queued += events
    this.#queuedOf.add(accountId, events)
  }

  /** Forgets an endpoint without events and attempts, and its limit. */
  #forgetIfEmpty(queue: EndpointQueue): void {
    if (queue.inFlight === 0 && queue.events.length === 0) this.#queues.delete(queue.endpointId)
  }
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
