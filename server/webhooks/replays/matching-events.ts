import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt'
import type { SQL } from 'drizzle-orm'
import type { ReplayFilter } from '../../../gen/verdict/admin/v1/replays_pb.ts'
import type { DatabaseClock } from '../../db/clock.ts'
import { and, eq, gt, inArray, lte, sql } from '../../db/drizzle.ts'
import { EVENT_KINDS } from '../../db/event-kinds.ts'
import { firstIdAt, timeOfId } from '../../db/ids.ts'
import { statusNames } from '../../db/outcome-names.ts'
import { oldestKeptId } from '../../db/retention.ts'
import { events } from '../../db/schema.ts'

/** A filter whose end is known: without one it is the time of the call. */
export type ReadFilter = ReplayFilter & { to: Timestamp }

/** Ids of events: `after` is not included, `until` is. Bounds that are times are no ids of events. */
export interface IdSpan {
  after: string
  until: string
}

/** The ids of the events that a filter can match. */
export function spanOf({ from, to }: ReadFilter, clock: DatabaseClock): IdSpan {
  const ofFrom = from ? [firstIdAt(timestampMs(from))] : []
  return { after: [oldestKeptId(clock), ...ofFrom].sort().at(-1)!, until: firstIdAt(timestampMs(to)) }
}

export type EventKind = (typeof EVENT_KINDS)[number]

/**
 * The condition for the events in a span that a filter matches. `kinds` are those that the endpoint asks for. The event
 * of a dry run never matches: a handler must not take it for a delivery.
 */
export function matches(accountId: string, filter: ReplayFilter, kinds: readonly EventKind[], span: IdSpan): SQL {
  const { status, event, tag, tenantId, notAcknowledged } = filter
  return and(
    eq(events.accountId, accountId),
    isIn(span),
    eq(events.sandbox, false),
    status === undefined ? undefined : eq(events.status, statusNames.name(status)),
    event === undefined ? undefined : eq(events.event, event as EventKind),
    kinds.length === EVENT_KINDS.length ? undefined : inArray(events.event, [...kinds]),
    tag === undefined ? undefined : eq(events.tag, tag),
    tenantId === undefined ? undefined : eq(events.tenantId, tenantId),
    notAcknowledged ? isNotAcknowledged(span) : undefined,
  )!
}

export const isIn = ({ after, until }: IdSpan): SQL => and(gt(events.id, after), lte(events.id, until))!

/** The id of a replay carries the clock of the process that accepted it, which may be a little behind the event's. */
const SLACK_MS = 60_000

// The original dispatch of an event has the event's id. A replay has a later one.
function isNotAcknowledged({ after, until }: IdSpan): SQL {
  return sql`
    not exists (
      select from dispatches o
      where o.id = ${events.id} and o.id > ${after} and o.id <= ${until} and o.state = 'acknowledged')
    and not exists (
      select from dispatches r
      where r.kind = 'replay' and r.state = 'acknowledged' and r.event_id = ${events.id}
        and r.event_id > ${after} and r.event_id <= ${until} and r.id > ${firstIdAt(timeOfId(after) - SLACK_MS)})`
}
