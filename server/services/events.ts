import { create } from '@bufbuild/protobuf'
import { timestampFromDate, timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { SQL } from 'drizzle-orm'
import {
  type Event,
  EventSchema,
  type EventService,
  type ListEventsRequest,
  ListEventsRequestSchema,
  ReplayEventResponseSchema,
} from '../../gen/verdict/v1/events_pb.ts'
import { callerKey } from '../caller.ts'
import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import { and, asc, desc, eq, gte, inArray, lt, sql } from '../db/drizzle.ts'
import { firstIdAt, type IdPrefix, readId, showId, timeOfId } from '../db/ids.ts'
import { isExpired, oldestKeptId } from '../db/retention.ts'
import { events, recipients } from '../db/schema.ts'
import { fail } from '../errors.ts'
import { reasonNames, statusNames } from '../sending/outcome.ts'
import { dispatchesOf, type Summary, summariesOf } from './event-dispatches.ts'
import { pageOf, readCursor, readEnum, readLimit, readTime } from './listing.ts'
import type { Replay, ReplayReceipt } from './replay.ts'

export interface EventServiceParts {
  db: Database
  clock: DatabaseClock
  /** Returns an address in its matching form; undefined for a text that is not an address. */
  matchingForm(text: string): string | undefined
  replay: Replay
  /** Returns the URL of a workflow in the Temporal UI, or undefined when no address of the UI is configured. */
  workflowUrl(workflowId: string): string | undefined
}

export function eventService(parts: EventServiceParts): ServiceImpl<typeof EventService> {
  const { db, clock, matchingForm, replay, workflowUrl } = parts

  /**
   * Returns the UUID in a shown id. Throws `event_expired` by the id's own time, for every caller, and `not_found` for
   * a text that is not an id.
   */
  function readKeptId(prefix: IdPrefix & keyof typeof NAMES, shown: string): string {
    const id = readId(prefix, shown)
    if (id === undefined) throw notFound(NAMES[prefix], shown)
    if (isExpired(id, clock)) throw fail('event_expired', `${shown} is older than the 90 days that events are kept.`)
    return id
  }

  async function readEvent(accountId: string, shown: string): Promise<EventRow> {
    const id = readKeptId('evt', shown)
    const [row] = await db
      .select()
      .from(events)
      .where(and(eq(events.id, id), eq(events.accountId, accountId)))
    if (!row) throw notFound(NAMES.evt, shown)
    return row
  }

  return {
    async listEvents(request, context) {
      const { accountId } = context.values.get(callerKey)!
      const limit = readLimit(request.limit)
      const filters = [
        eq(events.accountId, accountId),
        gte(events.id, oldestKeptId(clock)),
        ...readFilters(request, matchingForm),
      ]
      const after = readCursor(ListEventsRequestSchema, request)
      if (after !== undefined) filters.push(lt(events.id, after))
      if (request.messageId !== undefined) filters.push(await eventsOfMessage(db, request.messageId))

      const rows = await db
        .select()
        .from(events)
        .where(and(...filters))
        .orderBy(desc(events.id))
        .limit(limit + 1)
      const { page, ...more } = pageOf(rows, limit, ListEventsRequestSchema, request)
      const summaryOf = await summariesOf(
        db,
        accountId,
        page.map(({ id }) => id),
      )
      return { events: page.map((row) => eventOfRow(row, summaryOf(row.id))), ...more }
    },

    async getEvent({ eventId }, context) {
      const { accountId } = context.values.get(callerKey)!
      const row = await readEvent(accountId, eventId)
      const [summaryOf, dispatches] = await Promise.all([
        summariesOf(db, accountId, [row.id]),
        dispatchesOf(db, accountId, row.id, workflowUrl),
      ])
      return { ...fieldsOf(row, summaryOf(row.id)), dispatches }
    },

    async replayEvent({ eventId }, context) {
      const { accountId } = context.values.get(callerKey)!
      const [receipt] = await replay(accountId, [await readEvent(accountId, eventId)])
      return responseOf(receipt!)
    },

    async replayMessage({ messageId }, context) {
      const { accountId } = context.values.get(callerKey)!
      const rows = await eventsInOrder(db, accountId, readKeptId('msg', messageId))
      if (rows.length === 0) throw notFound(NAMES.msg, messageId)
      const receipts = await replay(accountId, rows)
      return { replayed: true, messageId, count: receipts.length, events: receipts.map(responseOf) }
    },
  }
}

function readFilters(request: ListEventsRequest, matchingForm: EventServiceParts['matchingForm']): SQL[] {
  const { tenantId, sandbox } = request
  // Text that is not an address becomes '', which matches no recipient.
  const recipient = request.recipient === undefined ? undefined : (matchingForm(request.recipient) ?? '')
  const status = readEnum('status', request.status, statusNames)
  const reason = readEnum('reason', request.reason, reasonNames)
  const from = readTime('from', request.from)
  const to = readTime('to', request.to)
  return [
    status === undefined ? undefined : eq(events.status, status),
    reason === undefined ? undefined : eq(events.reason, reason),
    recipient === undefined ? undefined : sql`lower(${events.recipient}) = ${recipient}`,
    tenantId === undefined ? undefined : eq(events.tenantId, tenantId),
    sandbox === undefined ? undefined : eq(events.sandbox, sandbox),
    // An event carries its timestamp in its id: see history/event-ids.ts.
    from === undefined ? undefined : gte(events.id, firstIdAt(from)),
    to === undefined ? undefined : lt(events.id, firstIdAt(to)),
  ].filter((filter) => filter !== undefined)
}

/** The filter for the events of one message: their ids, which its recipients have. */
async function eventsOfMessage(db: Database, shownId: string): Promise<SQL> {
  const messageId = readId('msg', shownId)
  if (!messageId) return sql`false`
  const rows = await db.select({ id: recipients.eventId }).from(recipients).where(eq(recipients.messageId, messageId))
  return inArray(
    events.id,
    rows.map((row) => row.id),
  )
}

type EventRow = typeof events.$inferSelect

/** Loads an account's events of one message, in the order of the message's recipients. */
async function eventsInOrder(db: Database, accountId: string, messageId: string): Promise<EventRow[]> {
  const rows = await db
    .select({ id: recipients.eventId })
    .from(recipients)
    .where(eq(recipients.messageId, messageId))
    .orderBy(asc(recipients.position))
  const ids = rows.map(({ id }) => id)
  if (ids.length === 0) return []
  const unordered = await db
    .select()
    .from(events)
    .where(
      and(inArray(events.id, ids), gte(events.id, firstIdAt(timeOfId(messageId))), eq(events.accountId, accountId)),
    )
  return unordered.toSorted((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id))
}

function eventOfRow(row: EventRow, summary: Summary): Event {
  return create(EventSchema, fieldsOf(row, summary))
}

function fieldsOf(row: EventRow, { attempts, acknowledgedMs }: Summary) {
  return {
    eventId: showId('evt', row.id),
    messageId: showId('msg', row.messageId),
    status: statusNames.value(row.status),
    timestamp: timestampFromDate(row.createdAt),
    reason: row.reason === null ? undefined : reasonNames.value(row.reason),
    recipient: row.recipient,
    tenantId: row.tenantId ?? undefined,
    sandbox: row.sandbox,
    attempts,
    acknowledgedAt: acknowledgedMs === null ? undefined : timestampFromMs(acknowledgedMs),
  }
}

function responseOf({ eventId, messageId, dispatchId, dispatchedMs }: ReplayReceipt) {
  return create(ReplayEventResponseSchema, {
    replayed: true,
    eventId: showId('evt', eventId),
    messageId: showId('msg', messageId),
    dispatchedAt: timestampFromMs(dispatchedMs),
    dispatchId: showId('dsp', dispatchId),
  })
}

const NAMES = { evt: 'event', msg: 'message' }

function notFound(what: string, shown: string) {
  return fail('not_found', `There is no ${what} ${JSON.stringify(shown.slice(0, 64))} in this account.`)
}
