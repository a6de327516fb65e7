import { create } from '@bufbuild/protobuf'
import { type Timestamp, timestampFromDate, timestampMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { and, desc, eq, gte, inArray, lt, type SQL, sql } from 'drizzle-orm'
import {
  type Event,
  EventSchema,
  type EventService,
  type ListEventsRequest,
  ListEventsRequestSchema,
} from '../../gen/verdict/v1/events_pb.ts'
import { callerKey } from '../caller.ts'
import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import { firstIdAt, readId, showId } from '../db/ids.ts'
import { oldestKeptId } from '../db/retention.ts'
import { events, recipients } from '../db/schema.ts'
import { reasonWords, statusWords } from '../sending/outcome.ts'
import { pageOf, readCursor, readLimit, readWord, refuse } from './listing.ts'

/** An event's id carries the time its send was accepted; its timestamp comes at most a send's lease later. */
const LONGEST_SEND_MS = 120_000
/** The last millisecond of the year 9999. */
const MAX_TIME_MS = 253_402_300_799_999

export interface EventServiceParts {
  db: Database
  clock: DatabaseClock
  /** An address as addresses are matched; undefined for a text that is none. */
  matchingForm(text: string): string | undefined
}

export function eventService({ db, clock, matchingForm }: EventServiceParts): ServiceImpl<typeof EventService> {
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
      return { events: page.map(eventOfRow), ...more }
    },
  }
}

function readFilters(request: ListEventsRequest, matchingForm: EventServiceParts['matchingForm']): SQL[] {
  const { tenantId, sandbox } = request
  // A text that is no address is nobody's: the list is empty.
  const recipient = request.recipient === undefined ? undefined : (matchingForm(request.recipient) ?? '')
  const status = readWord('status', request.status, statusWords)
  const reason = readWord('reason', request.reason, reasonWords)
  const from = readTime('from', request.from)
  const to = readTime('to', request.to)
  return [
    status === undefined ? undefined : eq(events.status, status),
    reason === undefined ? undefined : eq(events.reason, reason),
    recipient === undefined ? undefined : sql`lower(${events.recipient}) = ${recipient}`,
    tenantId === undefined ? undefined : eq(events.tenantId, tenantId),
    sandbox === undefined ? undefined : eq(events.sandbox, sandbox),
    from && gte(events.createdAt, from),
    from && gte(events.id, firstIdAt(from.getTime() - LONGEST_SEND_MS)),
    to && lt(events.createdAt, to),
    to && lt(events.id, firstIdAt(to.getTime() + 1)),
  ].filter((filter) => filter !== undefined)
}

function readTime(field: string, time: Timestamp | undefined): Date | undefined {
  if (!time) return undefined
  const ms = timestampMs(time)
  if (ms >= 0 && ms <= MAX_TIME_MS) return new Date(ms)
  throw refuse(field, 'must be a time from 1970 to 9999')
}

/** The events of one message, by their ids: they were minted with it and stand in the rows of its recipients. */
async function eventsOfMessage(db: Database, shownId: string): Promise<SQL> {
  const messageId = readId('msg', shownId)
  if (!messageId) return sql`false`
  const rows = await db.select({ id: recipients.eventId }).from(recipients).where(eq(recipients.messageId, messageId))
  return inArray(
    events.id,
    rows.map((row) => row.id),
  )
}

function eventOfRow(row: typeof events.$inferSelect): Event {
  return create(EventSchema, {
    eventId: showId('evt', row.id),
    messageId: showId('msg', row.messageId),
    status: statusWords.value(row.status),
    timestamp: timestampFromDate(row.createdAt),
    reason: row.reason === null ? undefined : reasonWords.value(row.reason),
    recipient: row.recipient,
    tenantId: row.tenantId ?? undefined,
    sandbox: row.sandbox,
  })
}
