import type { JsonValue } from '@bufbuild/protobuf'
import { createCollector, jsonArray } from '../../db/collector.ts'
import type { Database } from '../../db/connect.ts'
import { evidenceOf, reportEvidenceOf, type StoredEvent } from '../../db/delivery-event.ts'
import { NEEDS_MESSAGE } from '../../db/event-kinds.ts'
import { idsAndBounds, inMs, run, UNPREPARED, uuidArray } from '../../db/statement.ts'
import { unknownAttempts } from './end.ts'
import { TARGET_COLUMNS, type TargetRow } from './target.ts'

/** The time of a POST with its wait for a slot, and a moment to store its outcome. */
const POST_AND_RECORD = `interval '14 seconds'`
/** Attempts that begin at about the same moment share a statement. */
const LINGER_MS = 1

/** The endpoint of a dispatch as it is now; without a URL when it was deleted. With the trace to continue. */
export type CurrentTarget = (TargetRow | { url: null }) & { traceparent: string | null }

// The first attempt of an event belongs to the process that stored the event, for the time of a lease. Nothing marks
// the beginning of that attempt.
export const FIRST = `
  select d.id, d.traceparent, ${TARGET_COLUMNS}
  from open_dispatches d left join webhook_endpoints w on w.id = d.endpoint_id
  where d.id = any($1::uuid[]) and d.lease_until > clock_timestamp() + ${POST_AND_RECORD}`

/** Returns the target of a dispatch's first attempt; undefined when this process no longer holds the lease. */
export function createBeginFirst(db: Database): (dispatchId: string) => Promise<CurrentTarget | undefined> {
  const begin = createCollector<{ json: string }, CurrentTarget | undefined>(
    async (requests) => {
      const ids = requests.map(({ json }) => json)
      const rows = await run<CurrentTarget & { id: string }>(db, FIRST, [uuidArray(ids)])
      const byId = new Map(rows.map((row) => [row.id, row]))
      return ids.map((id) => byId.get(id))
    },
    { lingerMs: LINGER_MS, note: db.noteBatch('begin_first_attempts'), groupOf: ({ json }) => json },
  )
  return (dispatchId) => begin({ json: dispatchId })
}

export interface NextAttempt {
  /** UUID. */
  dispatchId: string
  number: number
  /** The account of the dispatch, by any name. By default its rows wait for locks by themselves. */
  account?: string
  /** Whether the attempt may begin before it is due, because an operator asked for it. */
  early?: boolean
}

/** An open dispatch at the moment its next attempt was to begin. */
type OpenDispatch = CurrentTarget & {
  /** The number of its next attempt. */
  attempt: number
  eventId: string
  messageId: string
  /** Whether its window is over. */
  isLate: boolean
  /** Unix milliseconds; null when no attempt begins now. */
  startedAtMs: number | null
}

// A row whose attempt had already begun belongs to a process that died. The outcome of that POST is unknown.
export const BEGIN = `
  with input as materialized (
    select * from json_to_recordset($1::json) as r(id uuid, number smallint, early boolean)
  ),
  waiting as materialized (
    select d.*, d.attempt = i.number as is_next, d.deadline_at < clock_timestamp() as is_late,
      i.early or d.due_at <= clock_timestamp() as is_due
    from open_dispatches d join input i on i.id = d.id
    order by d.id for update of d
  ),
  lost as (${unknownAttempts({
    from: 'waiting',
    number: 'attempt',
    startedAt: 'started_at',
    where: 'is_next and is_due and started_at is not null',
  })}
  ),
  begun as (
    update open_dispatches d set started_at = clock_timestamp()
    from waiting b where d.id = b.id and b.is_next and b.is_due and not b.is_late
      and exists (select from webhook_endpoints e where e.id = b.endpoint_id)
    returning d.id, d.started_at
  )
  select d.id, d.attempt, d.event_id as "eventId", d.message_id as "messageId", d.is_late as "isLate",
    ${inMs('begun.started_at')} as "startedAtMs", d.traceparent,
    ${TARGET_COLUMNS}
  from waiting d left join begun on begun.id = d.id
  left join webhook_endpoints w on w.id = d.endpoint_id`

/** Begins an attempt, which then counts as made. Returns undefined when the dispatch is over. */
export function createBeginNext(db: Database): (attempt: NextAttempt) => Promise<OpenDispatch | undefined> {
  const begin = createCollector<{ json: string; id: string; account: string }, OpenDispatch | undefined>(
    async (requests) => {
      const rows = await run<OpenDispatch & { id: string }>(db, BEGIN, [jsonArray(requests)])
      const byId = new Map(rows.map((row) => [row.id, row]))
      return requests.map(({ id }) => byId.get(id))
    },
    { note: db.noteBatch('begin_attempts'), groupOf: ({ account }) => account },
  )
  return ({ dispatchId, number, early = false, account = dispatchId }) =>
    begin({ id: dispatchId, account, json: JSON.stringify({ id: dispatchId, number, early }) })
}

export const UNDO_BEGIN = `update open_dispatches set started_at = null where id = $1 and attempt = $2`

/** Undoes `beginNext` for an attempt that was not made: its number can be used again. */
export async function undoBegin(db: Database, { dispatchId, number }: NextAttempt): Promise<void> {
  await run(db, UNDO_BEGIN, [dispatchId, number])
}

// The parameters are those of `idsAndBounds`, of the events and of their messages.
export const EVENTS = `
  select e.id, e.message_id as "messageId", e.account_id as "accountId", e.event, e.status, e.reason, e.recipient,
    e.sandbox, e.tag, e.metadata, e.tenant_id as "tenantId", e.feedback,
    coalesce(e.detail, r.detail) as detail, e.evidence, e.is_member as "isMember", e.payload, r.smtp, r.in_doubt as "inDoubt", r.retryable, ${inMs('e.created_at')} as "createdAtMs"
  from events e
  left join recipients r on r.message_id = any($4::uuid[]) and r.message_id between $5 and $6
    and r.message_id = e.message_id and r.event_id = e.id
  where e.id = any($1::uuid[]) and e.id between $2 and $3`

type EventRow = StoredEvent & {
  smtp: unknown
  evidence: JsonValue
  /** null without a row of the recipient. */
  inDoubt: boolean | null
}

interface EventKey {
  eventId: string
  messageId: string
}

/**
 * Reads an event by its id and that of its message. Returns undefined when its retention is over, or that of its
 * message: a payload without the evidence would have other bytes than before.
 */
export function createReadEvent(db: Database): (key: EventKey) => Promise<StoredEvent | undefined> {
  const read = createCollector<EventKey & { json: string }, StoredEvent | undefined>(
    async (requests) => {
      const ids = idsAndBounds(requests.map(({ eventId }) => eventId))
      const messageIds = idsAndBounds(requests.map(({ messageId }) => messageId))
      const parameters = [...ids, ...messageIds]
      const rows = await run<EventRow>(db, EVENTS, parameters, UNPREPARED)
      const byId = new Map(rows.filter(isWhole).map((row) => [row.id, eventOf(row)]))
      return requests.map(({ eventId }) => byId.get(eventId))
    },
    { note: db.noteBatch('read_events'), groupOf: ({ json }) => json },
  )
  return ({ eventId, messageId }) => read({ eventId, messageId, json: eventId })
}

function eventOf(row: EventRow): StoredEvent {
  const smtp = row.event === 'email.feedback' ? reportEvidenceOf(row.evidence) : evidenceOf(row.smtp)
  return { ...row, smtp } as StoredEvent
}

/** Whether the event's rows have all of its payload. */
const isWhole = (row: EventRow) => !NEEDS_MESSAGE[row.event] || row.payload === 1 || row.inDoubt !== null
