import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt'
import type { SQL } from 'drizzle-orm'
import type { ReplayFilter } from '../../../gen/verdict/admin/v1/replays_pb.ts'
import type { DatabaseClock } from '../../db/clock.ts'
import { and, eq, gt, inArray, lte, sql } from '../../db/drizzle.ts'
import { EVENT_KINDS, type EventKind } from '../../db/event-kinds.ts'
import { firstIdAt, timeOfId } from '../../db/ids.ts'
import { later } from '../../db/newest-rows.ts'
import { statusNames } from '../../db/outcome-names.ts'
import { oldestKeptId } from '../../db/retention.ts'
import { events } from '../../db/schema.ts'
import type { Endpoint } from '../endpoints/endpoints.ts'

/** A filter whose end is known: without one it is the time of the call. */
export type ReadFilter = ReplayFilter & { to: Timestamp }

/** Ids of events: `after` is not included, `until` is. Bounds that are times are no ids of events. */
export interface IdSpan {
  after: string
  until: string
}

/** The ids of the events that a filter can match. */
export function spanOf({ from, to }: ReadFilter, clock: DatabaseClock): IdSpan {
  const oldest = oldestKeptId(clock)
  return { after: from ? later(oldest, firstIdAt(timestampMs(from))) : oldest, until: firstIdAt(timestampMs(to)) }
}

/** An endpoint that a replay sends events to: those of the kinds that it asks for. */
export type Receiver = Pick<Endpoint, 'id' | 'events'>

/** The events of an account that a filter matches and a receiver asks for. */
export interface EventSelection {
  accountId: string
  filter: ReplayFilter
  receivers: readonly Receiver[]
}

/**
 * The condition for the selected events in a span. The event of a dry run never matches: a handler must not take it for
 * a delivery.
 */
export function matches({ accountId, filter, receivers }: EventSelection, span: IdSpan): SQL | undefined {
  const { status, event, tag, tenantId, notAcknowledged } = filter
  const kinds = EVENT_KINDS.filter((kind) => receivers.some(({ events }) => events.includes(kind)))
  return and(
    eq(events.accountId, accountId),
    isIn(span),
    eq(events.sandbox, false),
    status === undefined ? undefined : eq(events.status, statusNames.name(status)),
    event === undefined ? undefined : eq(events.event, event as EventKind),
    kinds.length === EVENT_KINDS.length ? undefined : inArray(events.event, [...kinds]),
    tag === undefined ? undefined : eq(events.tag, tag),
    tenantId === undefined ? undefined : eq(events.tenantId, tenantId),
    notAcknowledged ? sql`exists (${lacking(receivers, span)})` : undefined,
  )
}

export const isIn = ({ after, until }: IdSpan) => and(gt(events.id, after), lte(events.id, until))

/** The id of a replay carries the clock of the process that accepted it, which may be a little behind the event's. */
const SLACK_MS = 60_000

/**
 * The query of the receivers that ask for an event and have not acknowledged it, the oldest first. The original
 * dispatch to an account's first endpoint has the event's id, every other dispatch of the event another one.
 */
function lacking(receivers: readonly Receiver[], { after, until }: IdSpan): SQL {
  const ids = receivers.map(({ id }) => id)
  return sql`
    select w.id from webhook_endpoints w
    where w.id = any(${`{${ids}}`}::uuid[]) and ${events.event} = any(w.events)
    and not exists (
      select from dispatches o
      where o.id = ${events.id} and o.id > ${after} and o.id <= ${until} and o.state = 'acknowledged'
        and o.endpoint_id = w.id)
    and not exists (
      select from dispatches r
      where r.id <> r.event_id and r.state = 'acknowledged' and r.event_id = ${events.id}
        and r.event_id > ${after} and r.event_id <= ${until} and r.id > ${firstIdAt(timeOfId(after) - SLACK_MS)}
        and r.endpoint_id = w.id)
    order by w.created_at, w.id`
}

/** The ids of the receivers that a selected event is sent to: a column of a query of events. */
export function receivingIds({ filter, receivers }: EventSelection, span: IdSpan) {
  if (filter.notAcknowledged) return sql<string[]>`array_to_json(array(${lacking(receivers, span)}))`
  const asking = (kind: EventKind) => receivers.filter(({ events }) => events.includes(kind)).map(({ id }) => id)
  const choices = EVENT_KINDS.map((kind) => sql`when ${kind} then ${`{${asking(kind)}}`}::uuid[]`)
  return sql<string[]>`array_to_json(case ${events.event} ${sql.join(choices, sql` `)} end)`
}
