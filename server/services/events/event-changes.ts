import { create, type MessageInitShape } from '@bufbuild/protobuf'
import type { HandlerContext } from '@connectrpc/connect'
import {
  type Event,
  type EventChange,
  EventChangeSchema,
  type ListChangesRequest,
  type StreamEventsRequest,
  StreamEventsResponseSchema,
} from '../../../gen/verdict/v1/events_pb.ts'
import { lowerAscii } from '../../../mail/address.ts'
import { createKeyedAmounts } from '../../../net/keyed-amounts.ts'
import { accountOf, callerOf, rightKey } from '../../caller.ts'
import { parsePublicId } from '../../db/ids.ts'
import { fail, failField } from '../../errors.ts'
import type { Cursor } from '../../stream/position.ts'
import type { RightWatch } from '../../stream/rights.ts'
import { MAX_STREAMS, type StreamLeases } from '../../stream/stream-leases.ts'
import { type EventStreams, QUIET_MS, type Start } from '../../stream/streams.ts'
import { type Batch, cursorOfRow } from '../../stream/tail.ts'
import { readLimit } from '../listing/pages.ts'
import type { EventRow } from './event-fields.ts'
import { readEventFilters } from './event-filters.ts'

interface EventChangesParts {
  streams: EventStreams<Event>
  leases: StreamLeases
  rights: RightWatch
}

export const MAX_WAIT_S = 20
/** How long a message may wait for its reader. */
const SLOW_MS = 20_000
/** The most events that one call passes because they do not match. */
const MOST_PASSED = 1_000

type Matches = (row: EventRow) => boolean

/** The stream of events, and its form for REST. */
export class EventChanges {
  readonly #parts: EventChangesParts
  readonly #waiting = createKeyedAmounts()

  constructor(parts: EventChangesParts) {
    this.#parts = parts
  }

  async *streamEvents(request: StreamEventsRequest, context: HandlerContext) {
    const { streams, leases } = this.#parts
    const accountId = accountOf(context)
    const matches = readFilters(request)
    const release = await leases.take(accountId)
    const start = await streams.start(accountId, request.after).catch((error) => {
      release()
      throw error
    })
    const { signal, end } = this.#watched(context)
    let { cursor } = start
    const messageOf = (more: MessageInitShape<typeof StreamEventsResponseSchema>) =>
      create(StreamEventsResponseSchema, {
        position: streams.positionOf(start, cursor),
        // The database's clock may be set back.
        horizonAgeMs: Math.max(0, Math.floor(streams.heldMs())),
        ...more,
      })
    try {
      yield messageOf({})
      let sentMs = performance.now()
      // Events that do not match put no heartbeat off.
      const quietMs = () => sentMs + QUIET_MS - performance.now()
      for await (const batch of streams.follow(start, signal, quietMs)) {
        if (batch) cursor = batch.cursor
        const events = batch ? this.#changesOf(start, batch, matches) : []
        if (batch && events.length === 0 && quietMs() > 0) continue
        sentMs = performance.now()
        yield messageOf({ events })
        if (performance.now() - sentMs > SLOW_MS) throw tooSlow()
      }
    } catch (error) {
      // The last position, for a stream that ends by itself.
      if (!context.signal.aborted) yield messageOf({})
      throw error
    } finally {
      end()
      release()
    }
  }

  async listChanges(request: ListChangesRequest, context: HandlerContext) {
    const limit = readLimit(request.limit)
    const waitMs = readWait(request.waitS) * 1_000
    const matches = readFilters(request)
    const start = await this.#parts.streams.start(accountOf(context), request.after)
    const { cursor, ...found } = await this.#readMatching(start, limit, matches)
    if (found.events.length > 0 || found.hasMore || waitMs === 0) return found
    const later = await this.#waitFor({ ...start, cursor }, waitMs, matches, context)
    return this.#upTo(limit, start, later, false)
  }

  /** Reads pages until the limit, the end, or too many events that do not match. */
  async #readMatching(start: Start, limit: number, matches: Matches) {
    let { cursor } = start
    for (let passed = 0; ; ) {
      const page = await this.#parts.streams.readPage(start, cursor)
      const events = this.#changesOf(start, page, matches)
      cursor = page.cursor
      passed += page.events.length
      const isOver = events.length > 0 || page.isLast || passed >= MOST_PASSED
      if (isOver) return { ...this.#upTo(limit, start, { events, cursor }, !page.isLast), cursor }
    }
  }

  /** The events up to the limit, and the position after the last one of them. */
  #upTo(limit: number, start: Start, { events, cursor }: { events: EventChange[]; cursor: Cursor }, hasMore: boolean) {
    const last = events.length > limit ? events[limit - 1] : undefined
    if (last) return { events: events.slice(0, limit), position: last.position, hasMore: true }
    return { events, position: this.#parts.streams.positionOf(start, cursor), hasMore }
  }

  /**
   * Waits for the first events that match. Returns what it has when the time is over, the process stops, or the reader
   * fails: the caller goes on after the position.
   */
  async #waitFor(start: Start, waitMs: number, matches: Matches, context: HandlerContext) {
    const { accountId } = start
    if (this.#waiting.of(accountId) >= MAX_STREAMS) throw tooManyWaiting()
    this.#waiting.add(accountId, 1)
    const { signal: callSignal, end } = this.#watched(context)
    const signal = AbortSignal.any([callSignal, AbortSignal.timeout(waitMs)])
    let cursor: Cursor = start.cursor
    try {
      for await (const batch of this.#parts.streams.follow(start, signal)) {
        if (!batch) continue
        cursor = batch.cursor
        const events = this.#changesOf(start, batch, matches)
        if (events.length > 0) return { events, cursor }
      }
    } catch (error) {
      if (callSignal.aborted) throw error
    } finally {
      end()
      this.#waiting.add(accountId, -1)
    }
    return { events: [], cursor }
  }

  /** The signal of a call that is aborted when its caller loses the right to it, too. Call `end` when it is over. */
  #watched(context: HandlerContext) {
    const right = context.values.get(rightKey)
    const lost = new AbortController()
    const unwatch = right && this.#parts.rights.watch(callerOf(context), right, (error) => lost.abort(error))
    return { signal: AbortSignal.any([context.signal, lost.signal]), end: () => unwatch?.() }
  }

  #changesOf(start: Start, { events }: Batch<Event>, matches: Matches): EventChange[] {
    const { streams } = this.#parts
    return events
      .filter(({ row }) => matches(row))
      .map(({ row, shown }) =>
        create(EventChangeSchema, { event: shown, position: streams.positionOf(start, cursorOfRow(row)) }),
      )
  }
}

const tooSlow = () =>
  fail(
    'transient_failure',
    `A message waited for ${SLOW_MS / 1_000} seconds: you read too slowly. Open a stream after the last position.`,
  )

const tooManyWaiting = () =>
  fail('rate_limit_exceeded', `${MAX_STREAMS} calls of this account wait for events.`, { retryAfterSeconds: 1 })

function readWait(seconds = 0): number {
  if (seconds <= MAX_WAIT_S) return seconds
  throw failField('wait_s', `must be a whole number from 0 to ${MAX_WAIT_S}`)
}

/** Whether an event matches the filters of a request. */
function readFilters(request: StreamEventsRequest | ListChangesRequest): Matches {
  const { recipient, sandbox = false, ...columns } = readEventFilters(request)
  // An unknown id matches nothing, as in the list.
  const messageId = request.messageId === undefined ? undefined : (parsePublicId('msg', request.messageId) ?? '')
  const asked = Object.entries({ ...columns, sandbox, messageId }).filter(([, value]) => value !== undefined)
  return (row) =>
    asked.every(([column, value]) => row[column as keyof EventRow] === value) &&
    (recipient === undefined || lowerAscii(row.recipient) === recipient)
}
