import { create, type MessageInitShape } from '@bufbuild/protobuf'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import {
  type Event,
  EventChangeSchema,
  type EventService,
  type ListChangesRequest,
  type StreamEventsRequest,
  StreamEventsResponseSchema,
} from '../../gen/verdict/v1/events_pb.ts'
import { lowerAscii } from '../../mail/address.ts'
import { createKeyedAmounts } from '../../net/keyed-amounts.ts'
import { callerKey, rightKey } from '../caller.ts'
import { parsePublicId } from '../db/ids.ts'
import { reasonNames, statusNames } from '../db/outcome-names.ts'
import { fail } from '../errors.ts'
import { MAX_STREAMS, type StreamLeases } from '../stream/leases.ts'
import type { Cursor } from '../stream/position.ts'
import type { RightWatch } from '../stream/rights.ts'
import type { EventStreams, Start } from '../stream/streams.ts'
import { type Batch, cursorOfRow } from '../stream/tail.ts'
import type { EventRow } from './event-fields.ts'
import { isEventKind, ONE_OF_KINDS, readEnum, readLimit, readRecipient, readTagFilter, refuse } from './listing.ts'

export type EventChanges = Pick<ServiceImpl<typeof EventService>, 'streamEvents' | 'listChanges'>

export interface EventChangesParts {
  streams: EventStreams<Event>
  leases: StreamLeases
  rights: RightWatch
  /** How long a message may wait for its reader. */
  slowMs?: number
}

export const MAX_WAIT_S = 20
const SLOW_MS = 20_000
/** The most events that one call passes because they do not match. */
const MOST_PASSED = 1_000

/** The stream of events, and its form for REST. */
export function createEventChanges(parts: EventChangesParts): EventChanges {
  const { streams, leases, rights, slowMs = SLOW_MS } = parts
  const waiting = createKeyedAmounts()

  /** The signal of a call that is aborted when its caller loses the right to it, too. Call `end` when it is over. */
  function watched(context: HandlerContext) {
    const caller = context.values.get(callerKey)!
    const right = context.values.get(rightKey)
    const ended = new AbortController()
    const leave = () => ended.abort(context.signal.reason)
    context.signal.addEventListener('abort', leave, { once: true })
    if (context.signal.aborted) leave()
    const unwatch = right && rights.watch(caller, right, (error) => ended.abort(error))
    const end = () => {
      context.signal.removeEventListener('abort', leave)
      unwatch?.()
    }
    return { signal: ended.signal, end, isLost: () => ended.signal.aborted && !context.signal.aborted }
  }

  const changesOf = (start: Start, { events }: Batch<Event>, matches: (row: EventRow) => boolean) =>
    events
      .filter(({ row }) => matches(row))
      .map(({ row, shown }) =>
        create(EventChangeSchema, { event: shown, position: streams.positionOf(start, cursorOfRow(row)) }),
      )

  async function* streamEvents(request: StreamEventsRequest, context: HandlerContext) {
    const { accountId } = context.values.get(callerKey)!
    const matches = readFilters(request)
    const start = await streams.start(accountId, request.after)
    const release = await leases.take(accountId)
    const { signal, end, isLost } = watched(context)
    let { cursor } = start
    const messageOf = (more: MessageInitShape<typeof StreamEventsResponseSchema>) =>
      create(StreamEventsResponseSchema, {
        position: streams.positionOf(start, cursor),
        horizonAgeMs: Math.floor(streams.heldMs()),
        ...more,
      })
    try {
      yield messageOf({})
      let sentMs = performance.now()
      for await (const batch of streams.follow(start, signal)) {
        if (batch) cursor = batch.cursor
        const events = batch ? changesOf(start, batch, matches) : []
        const isDue = performance.now() - sentMs > QUIET_MS
        if (batch && events.length === 0 && !isDue) continue
        sentMs = performance.now()
        yield messageOf({ events })
        if (performance.now() - sentMs > slowMs) throw tooSlow(slowMs)
      }
    } catch (error) {
      // The last position, for a stream that ends by itself.
      if (!signal.aborted || isLost()) yield messageOf({})
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

  /** Waits for the first events that match. Returns at the end of the time, or of the process, what it has. */
  async function waitFor(start: Start, waitMs: number, matches: (row: EventRow) => boolean, context: HandlerContext) {
    const { accountId } = start
    if (waiting.of(accountId) >= MAX_STREAMS) throw tooManyWaiting()
    waiting.add(accountId, 1)
    const { signal: callSignal, end, isLost } = watched(context)
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
      if (callSignal.aborted || isLost()) throw error
    } finally {
      end()
      waiting.add(accountId, -1)
    }
    return { events: [], cursor }
  }

  return {
    streamEvents,

    async listChanges(request: ListChangesRequest, context) {
      const { accountId } = context.values.get(callerKey)!
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

/** A heartbeat is due every 15 seconds, also when events come that do not match. */
const QUIET_MS = 14_000

const tooSlow = (ms: number) =>
  fail(
    'transient_failure',
    `A message waited for ${ms / 1_000} seconds: you read too slowly. Open a stream after the last position.`,
  )

const tooManyWaiting = () =>
  fail('rate_limit_exceeded', `${MAX_STREAMS} calls of this account wait for events.`, { retryAfterSeconds: 1 })

function readWait(seconds = 0): number {
  if (seconds <= MAX_WAIT_S) return seconds
  throw refuse('wait_s', `must be a whole number from 0 to ${MAX_WAIT_S}`)
}

type Filters = Pick<
  ListChangesRequest,
  'messageId' | 'status' | 'reason' | 'recipient' | 'tenantId' | 'sandbox' | 'tag' | 'event'
>

/** Whether an event matches the filters of a request. */
function readFilters(request: Filters): (row: EventRow) => boolean {
  const { tenantId, sandbox = false, event } = request
  if (event !== undefined && !isEventKind(event)) throw refuse('event', ONE_OF_KINDS)
  const tag = readTagFilter(request.tag)
  const recipient = readRecipient(request.recipient)
  const status = readEnum('status', request.status, statusNames)
  const reason = readEnum('reason', request.reason, reasonNames)
  // An unknown id matches nothing, as in the list.
  const messageId = request.messageId === undefined ? undefined : (parsePublicId('msg', request.messageId) ?? '')
  const asked: [keyof EventRow, unknown][] = [
    ['sandbox', sandbox],
    ['messageId', messageId],
    ['status', status],
    ['reason', reason],
    ['tenantId', tenantId],
    ['tag', tag],
    ['event', event],
  ]
  const filters = asked.filter(([, value]) => value !== undefined)
  return (row) =>
    filters.every(([column, value]) => row[column] === value) &&
    (recipient === undefined || lowerAscii(row.recipient) === recipient)
}
