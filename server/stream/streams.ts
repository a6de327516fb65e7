import { FairSlots } from '../../net/fair-slots.ts'
import type { Sealer } from '../db/encryption.ts'
import { isExpired } from '../db/retention.ts'
import { fail, failFields } from '../errors.ts'
import { createEventQueue, type EventQueue } from './event-queue.ts'
import { BEFORE_ALL, type Cursor, namesEvent, type Position, parsePosition, showPosition } from './position.ts'
import { type EventReads, type Horizon, PAGE } from './read-events.ts'
import { type Batch, cursorOfRow, type EventTailParts, isAfter, PrimaryChanged, Tail } from './tail.ts'

/** Where a stream starts, and the server on which its positions are valid. */
export interface Start {
  accountId: string
  cursor: Cursor
  server: Pick<Position, 'cluster' | 'timeline'>
}

interface EventStreamsParts<Shown> extends EventTailParts<Shown> {
  reads: EventReads
  sealer: Sealer
}

/** A heartbeat is due every 15 seconds. */
export const QUIET_MS = 14_000
/** Pages that are read at a time for streams that are behind: they must not take the connections of sends. */
const PAGES_AT_ONCE = 2

const RESUME = 'Open a stream after the last position.'
const stopping = () => fail('transient_failure', `This server is shutting down. ${RESUME}`)
const failedOver = () => fail('transient_failure', `The database is not available, or fails over. ${RESUME}`)

const START_ANEW = 'Start again at "begin", and drop the event ids that you know'
const expired = (why: string) => fail('event_expired', `after ${why}. ${START_ANEW}.`)
const refuse = (why: string) => failFields('invalid_payload', [{ field: 'after', message: why }])

/** Streams of events over one reader, and the pages of those that are behind. */
export class EventStreams<Shown> {
  readonly #parts: EventStreamsParts<Shown>
  readonly #tail: Tail<Shown>
  readonly #slots = new FairSlots({ slots: PAGES_AT_ONCE, perAccount: 1 })
  readonly #stopped = new AbortController()

  constructor(parts: EventStreamsParts<Shown>) {
    this.#parts = parts
    this.#tail = new Tail(parts)
  }

  /** Reads `after` of a request. Throws what the contract says about positions that cannot be resumed. */
  async start(accountId: string, after: string | undefined): Promise<Start> {
    if (this.#stopped.signal.aborted) throw stopping()
    const now = await this.#parts.reads.horizon()
    if (!now.isKept)
      throw fail(
        'transient_failure',
        'The database was restored, and cannot stream events yet. Try again in a few seconds.',
      )
    const { cluster, timeline } = now
    return { accountId, cursor: await this.#cursorOf(accountId, after, now), server: { cluster, timeline } }
  }

  async #cursorOf(accountId: string, after: string | undefined, now: Horizon): Promise<Cursor> {
    const { reads, sealer } = this.#parts
    if (after === undefined) return this.#tail.cursorOf(accountId) ?? (await reads.newest(accountId))
    if (after === 'begin') return BEFORE_ALL
    const position = parsePosition(sealer, after, accountId)
    if (position === 'unknown_key') throw expired('is a position whose key this service no longer has')
    if (!position)
      throw refuse('is not a position of this account. Send one that you received, whole, or "begin", or leave it out')
    await check(this.#parts, accountId, position, now)
    return { order: position.order, id: position.id }
  }

  /** Reads up to 100 events after a cursor. `isLast`: no more are visible. */
  async readPage({ accountId, server }: Start, after: Cursor): Promise<Batch<Shown> & { isLast: boolean }> {
    const release = await this.#slots.acquire({ accountId, signal: this.#stopped.signal })
    if (!release) throw stopping()
    try {
      const rows = await this.#parts.reads.readPage(accountId, after)
      if (rows.some(({ timeline }) => timeline !== server.timeline)) throw failedOver()
      const last = rows.at(-1)
      return {
        events: last ? await this.#parts.show(accountId, rows) : [],
        cursor: last ? cursorOfRow(last) : after,
        isLast: rows.length < PAGE,
      }
    } finally {
      release()
    }
  }

  /**
   * Yields the events after the start as they are committed, and undefined when a heartbeat is due: `quietMs` says how
   * long from now, by default 14 seconds. Throws the signal's reason, and `transient_failure` when the server shuts
   * down or the database fails over.
   */
  async *follow(
    start: Start,
    signal: AbortSignal,
    quietMs = () => QUIET_MS,
  ): AsyncGenerator<Batch<Shown> | undefined, never> {
    let { cursor } = start
    for (;;) {
      const queue = createEventQueue<Batch<Shown>>()
      const wake = () => queue.end(signal.reason)
      signal.addEventListener('abort', wake, { once: true })
      let leave: (() => void) | undefined
      const follower = followerOf(queue, () => leave?.())
      try {
        while (!leave) {
          signal.throwIfAborted()
          const page = await this.readPage(start, cursor)
          cursor = page.cursor
          if (page.isLast) leave = this.#tail.follow(start.accountId, cursor, follower)
          if (page.events.length > 0) yield page
        }
        for (;;) {
          const next = await queue.next(quietMs())
          // The stream is too far behind for its queue, and reads on by itself.
          if (next === 'full') break
          const events = next?.events.filter(({ row }) => isAfter(cursorOfRow(row), cursor))
          if (next && isAfter(next.cursor, cursor)) cursor = next.cursor
          if (!events || events.length > 0) yield events && { events, cursor }
        }
      } catch (error) {
        throw this.#endOf(error, signal)
      } finally {
        leave?.()
        signal.removeEventListener('abort', wake)
      }
    }
  }

  /** The error for the caller of a stream that failed. */
  #endOf(error: unknown, signal: AbortSignal): unknown {
    if (signal.aborted) return error
    if (this.#stopped.signal.aborted) return stopping()
    if (!(error instanceof PrimaryChanged)) this.#parts.report(error)
    return failedOver()
  }

  /** A cursor as the caller keeps it. */
  positionOf({ accountId, server }: Start, cursor: Cursor): string {
    return showPosition(this.#parts.sealer, { ...server, ...cursor }, accountId)
  }

  /** For how long an open transaction has held back later events, in milliseconds. */
  heldMs(): number {
    return this.#tail.heldMs()
  }

  /** Ends all streams, and refuses further ones. */
  stop(): void {
    this.#stopped.abort()
    this.#slots.close()
    this.#tail.stop()
  }
}

/** Throws when a caller cannot go on at a position. */
async function check(
  { reads, clock }: EventStreamsParts<unknown>,
  accountId: string,
  position: Position,
  now: Horizon,
) {
  const { cluster, timeline, order, id } = position
  if (cluster !== now.cluster) throw expired('is a position of another database: this one was restored from a dump')
  if (id === BEFORE_ALL.id) return
  if (isExpired(id, clock)) throw expired('is older than the 90 days that events are kept')
  if (timeline > now.timeline) throw failedOver()
  if (order >= now.order && timeline === now.timeline)
    throw refuse(`is ahead of the database. Was it restored? ${START_ANEW}`)
  if (namesEvent(position) && !(await reads.isStored(accountId, position)))
    throw expired('is a position that the database does not have: it was restored to an earlier time')
}

/** Passes on what the tail reads, until the queue is full. */
const followerOf = <Shown>(queue: EventQueue<Batch<Shown>>, leave: () => void) => ({
  take(batch: Batch<Shown>) {
    if (!queue.put(batch, batch.events.length)) leave()
  },
  end: queue.end,
})
