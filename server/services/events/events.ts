import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { SQL } from 'drizzle-orm'
import {
  type EventService,
  type ListEventsRequest,
  ListEventsRequestSchema,
  ReplayEventResponseSchema,
} from '../../../gen/verdict/v1/events_pb.ts'
import { accountOf, callerOf, traceKey } from '../../caller.ts'
import type { Database } from '../../db/connect.ts'
import { and, asc, desc, eq, gte, inArray, lt, sql } from '../../db/drizzle.ts'
import { NEEDS_MESSAGE } from '../../db/event-kinds.ts'
import { firstIdAt, parsePublicId, publicId, timeOfId } from '../../db/ids.ts'
import { type FoundInTime, type IdRange, newestRowsInTime } from '../../db/newest-rows.ts'
import { readOn } from '../../db/replicas.ts'
import { isExpired } from '../../db/retention.ts'
import { events, feedback, recipients } from '../../db/schema.ts'
import { one } from '../../db/statement.ts'
import { createReadEvent } from '../../webhooks/attempt/begin.ts'
import { payloadOf } from '../../webhooks/attempt/payload.ts'
import { receiversOfEvent, receiversOfMessage, refuseEmptyName } from '../../webhooks/replays/receivers.ts'
import type { Replay, ReplayReceipt } from '../../webhooks/replays/replay.ts'
import type { Backend } from '../backend.ts'
import { isRecipient, readSoughtRecipient } from '../listing/filters.ts'
import { expiredId, KEPT_EVENT, KEPT_MESSAGE, readKeptId, unknownId } from '../listing/kept-ids.ts'
import { pageOf, readLimit, readRange } from '../listing/pages.ts'
import type { EventChanges } from './event-changes.ts'
import { dispatchesOf } from './event-dispatches.ts'
import { type EventRow, fieldsOfEvents } from './event-fields.ts'
import { readEventFilters } from './event-filters.ts'

interface EventServiceParts extends Backend {
  replay: Replay
  /** The stream of events, and its form for REST. */
  changes: EventChanges
}

export function createEventService(parts: EventServiceParts): ServiceImpl<typeof EventService> {
  const { db, clock, replay, changes, workflowLink } = parts
  const storedEventOf = createReadEvent(db)
  return {
    streamEvents: (request, context) => changes.streamEvents(request, context),
    listChanges: (request, context) => changes.listChanges(request, context),
    listEvents: (request, context) => listEvents(parts, request, accountOf(context)),
    async getEvent({ eventId }, context) {
      const { accountId, scopes, person } = callerOf(context)
      const row = await readEvent(parts, accountId, eventId)
      const showsUrls = person !== undefined || (scopes?.has('webhooks.read') ?? false)
      const [fieldsOf, dispatches] = await Promise.all([
        fieldsOfEvents(db, accountId, [row], { withSubjects: true }),
        storedEventOf({ eventId: row.id, messageId: row.messageId }).then((stored) => {
          const request = stored && { body: payloadOf(stored).toString(), eventId: row.id }
          return dispatchesOf(db, accountId, row.id, { workflowLink, request, showsUrls })
        }),
      ])
      return { ...fieldsOf(row), dispatches }
    },

    async replayEvent({ eventId, endpointId }, context) {
      refuseEmptyName(endpointId)
      const accountId = accountOf(context)
      const row = await readWholeEvent(parts, accountId, eventId)
      const endpointIds = await receiversOfEvent(db, row, endpointId)
      return responseOf(one(await replay(accountId, [{ ...row, endpointIds }], context.values.get(traceKey))))
    },

    async replayMessage({ messageId, endpointId }, context) {
      refuseEmptyName(endpointId)
      const accountId = accountOf(context)
      const rows = await eventsInOrder(db, accountId, readKeptId(KEPT_MESSAGE, messageId, clock))
      if (rows.length === 0) throw unknownId(KEPT_MESSAGE, messageId)
      const pushed = await receiversOfMessage(db, accountId, rows, endpointId)
      const receipts = pushed.length === 0 ? [] : await replay(accountId, pushed, context.values.get(traceKey))
      return { replayed: true, messageId, count: receipts.length, events: receipts.map(responseOf) }
    },
  }
}

async function listEvents(parts: EventServiceParts, request: ListEventsRequest, accountId: string) {
  const limit = readLimit(request.limit)
  // An event carries its timestamp in its id: see server/ledger/event-ids.ts.
  const range = readRange(ListEventsRequestSchema, request, parts.clock)
  const filters = [eq(events.accountId, accountId), ...readFilters(request)]
  const { messageId } = request
  // A caller may ask for the events of a message that it has just sent.
  const read = messageId === undefined ? parts.read : readOn(parts.db)
  return read(async (db) => {
    const { rows, stoppedAt } = await eventsOf(db, filters, range, limit + 1, messageId)
    const { page, ...more } = pageOf(rows, limit, ListEventsRequestSchema, request, stoppedAt)
    const fieldsOf = await fieldsOfEvents(db, accountId, page, { withSubjects: true })
    return { events: page.map(fieldsOf), ...more }
  })
}

function readFilters(request: ListEventsRequest) {
  const recipient = readSoughtRecipient(request.recipient)
  const { recipient: _, ...columns } = readEventFilters({ ...request, recipient: undefined })
  const equal = Object.entries(columns).flatMap(([name, value]) =>
    value === undefined ? [] : [eq(events[name as keyof typeof columns], value)],
  )
  // The kind is a constant, so that the planner uses the partial index of feedback events.
  if (columns.feedback !== undefined) equal.push(sql`events.event = 'email.feedback'`)
  if (recipient !== undefined) equal.push(isRecipient('events.recipient', recipient))
  return equal
}

async function readEvent({ db, clock }: EventServiceParts, accountId: string, shown: string): Promise<EventRow> {
  const id = readKeptId(KEPT_EVENT, shown, clock)
  const [row] = await db
    .select()
    .from(events)
    .where(and(eq(events.id, id), eq(events.accountId, accountId)))
  if (!row) throw unknownId(KEPT_EVENT, shown)
  return row
}

/** Reads an event to replay. The payload of an outcome needs rows that expire with its message. */
async function readWholeEvent(parts: EventServiceParts, accountId: string, shown: string): Promise<EventRow> {
  const row = await readEvent(parts, accountId, shown)
  if (NEEDS_MESSAGE[row.event] && isExpired(row.messageId, parts.clock)) throw expiredId(KEPT_EVENT, shown)
  return row
}

/** Reads the newest events, of one message or of all. */
async function eventsOf(
  db: Database,
  filters: SQL[],
  range: IdRange,
  limit: number,
  messageId: string | undefined,
): Promise<FoundInTime<EventRow>> {
  const ofOne = messageId === undefined ? [] : [await ofMessage(db, messageId)]
  const read = ({ from, below }: IdRange, limit: number) =>
    db
      .select()
      .from(events)
      .where(and(...filters, ...ofOne, gte(events.id, from), lt(events.id, below)))
      .orderBy(desc(events.id))
      .limit(limit)
  // The ids of a message's events say which days hold them.
  if (messageId !== undefined) return { rows: await read(range, limit) }
  return newestRowsInTime(range, limit, read)
}

/** The filter for the events of one message. */
async function ofMessage(db: Database, publicMessageId: string): Promise<SQL> {
  const messageId = parsePublicId('msg', publicMessageId)
  return messageId ? inArray(events.id, await eventIdsOf(db, messageId)) : sql`false`
}

/** The ids of a message's events: of its outcomes in the order of its recipients, then of its feedback by time. */
async function eventIdsOf(db: Database, messageId: string): Promise<string[]> {
  const outcomes = await db
    .select({ id: recipients.eventId })
    .from(recipients)
    .where(eq(recipients.messageId, messageId))
    .orderBy(asc(recipients.position))
  const reports = await db
    .select({ id: feedback.id })
    .from(feedback)
    .where(eq(feedback.messageId, messageId))
    .orderBy(asc(feedback.id))
  return [...outcomes, ...reports].map(({ id }) => id)
}

/** Loads an account's events of one message, in the order of `eventIdsOf`. */
async function eventsInOrder(db: Database, accountId: string, messageId: string): Promise<EventRow[]> {
  const ids = await eventIdsOf(db, messageId)
  if (ids.length === 0) return []
  const unordered = await db
    .select()
    .from(events)
    .where(
      and(inArray(events.id, ids), gte(events.id, firstIdAt(timeOfId(messageId))), eq(events.accountId, accountId)),
    )
  return unordered.toSorted((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id))
}

function responseOf({ eventId, messageId, dispatches, dispatchedMs }: ReplayReceipt) {
  const shown = dispatches.map(({ dispatchId, endpointId }) => {
    return { dispatchId: publicId('dsp', dispatchId), endpointId: publicId('whk', endpointId) }
  })
  return create(ReplayEventResponseSchema, {
    replayed: true,
    eventId: publicId('evt', eventId),
    messageId: publicId('msg', messageId),
    dispatchedAt: timestampFromMs(dispatchedMs),
    dispatchId: shown[0]?.dispatchId,
    dispatches: shown,
  })
}
