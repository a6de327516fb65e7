import { create, type MessageInitShape } from '@bufbuild/protobuf'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import {
  type Event,
  EventChangeSchema,
  type EventService,
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

export type EventChanges = Pick<ServiceImpl<typeof EventService>, 'streamEvents' | 'listChanges'>

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

/** The stream of events, and its form for REST. */
export function createEventChanges(parts: EventChangesParts): EventChanges {
  const { streams, leases, rights } = parts
  const waiting = createKeyedAmounts()

  /** The signal of a call that is aborted when its caller loses the right to it, too. Call `end` when it is over. */
  function watched(context: HandlerContext) {
    const right = context.values.get(rightKey)
    const lost = new AbortController()
    const unwatch = right && rights.watch(callerOf(context), right, (error) => lost.abort(error))
    return { signal: AbortSignal.any([context.signal, lost.signal]), end: () => unwatch?.() }
  }

  const changesOf = (start: Start, { events }: Batch<Event>, matches: (row: EventRow) => boolean) =>
    events
      .filter(({ row }) => matches(row))
      .map(({ row, shown }) =>
        create(EventChangeSchema, { event: shown, position: streams.positionOf(start, cursorOfRow(row)) }),
      )

  async function* streamEvents(request: StreamEventsRequest, context: HandlerContext) {
    const accountId = accountOf(context)
    const matches = readFilters(request)
    const release = await leases.take(accountId)
    const start = await streams.start(accountId, request.after).catch((error) => {
      release()
      throw error
    })
    const { signal, end } = watched(context)
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
        const events = batch ? changesOf(start, batch, matches) : []
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

  /** Reads pages until the limit, the end, or too many events that do not match. */
  async function readMatching(start: Start, limit: number, matches: (row: EventRow) => boolean) {
    let { cursor } = start
    for (let passed = 0; ; ) {
      const page = await streams.readPage(start, cursor)
      const events = changesOf(start, page, matches)
      if (events.length > limit)
        return { events: events.slice(0, limit), position: events[limit - 1]!.position, hasMore: true }
      cursor = page.cursor
      passed += page.events.length
      const isOver = events.length > 0 || page.isLast || passed >= MOST_PASSED
      if (isOver) return { events, position: streams.positionOf(start, cursor), hasMore: !page.isLast, cursor }
    }
  }

  /**
   * Waits for the first events that match. Returns what it has when the time is over, the process stops, or the reader
   * fails: the caller goes on after the position.
   */
  async function waitFor(start: Start, waitMs: number, matches: (row: EventRow) => boolean, context: HandlerContext) {
    const { accountId } = start
    if (waiting.of(accountId) >= MAX_STREAMS) throw tooManyWaiting()
    waiting.add(accountId, 1)
    const { signal: callSignal, end } = watched(context)
    const signal = AbortSignal.any([callSignal, AbortSignal.timeout(waitMs)])
    let cursor: Cursor = start.cursor
    try {
      for await (const batch of streams.follow(start, signal)) {
        if (!batch) continue
        cursor = batch.cursor
        const events = changesOf(start, batch, matches)
        if (events.length > 0) return { events, cursor }
      }
    } catch (error) {
      if (callSignal.aborted) throw error
    } finally {
      end()
      waiting.add(accountId, -1)
    }
    return { events: [], cursor }
  }

  return {
    streamEvents,

    async listChanges(request: ListChangesRequest, context) {
      const accountId = accountOf(context)
      const limit = readLimit(request.limit)
      const waitMs = readWait(request.waitS) * 1_000
      const matches = readFilters(request)
      const start = await streams.start(accountId, request.after)
      const { cursor, ...found } = await readMatching(start, limit, matches)
      if (found.events.length > 0 || found.hasMore || waitMs === 0) return found
      const later = await waitFor({ ...start, cursor: cursor! }, waitMs, matches, context)
      const isCut = later.events.length > limit
      const events = later.events.slice(0, limit)
      const position = isCut ? events.at(-1)!.position : streams.positionOf(start, later.cursor)
      return { events, position, hasMore: isCut }
    },
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
function readFilters(request: StreamEventsRequest | ListChangesRequest): (row: EventRow) => boolean {
  const { recipient, sandbox = false, ...columns } = readEventFilters(request)
  // An unknown id matches nothing, as in the list.
  const messageId = request.messageId === undefined ? undefined : (parsePublicId('msg', request.messageId) ?? '')
  const asked = Object.entries({ ...columns, sandbox, messageId }).filter(([, value]) => value !== undefined)
  return (row) =>
    asked.every(([column, value]) => row[column as keyof EventRow] === value) &&
    (recipient === undefined || lowerAscii(row.recipient) === recipient)
}
