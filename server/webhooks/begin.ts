import { collector, jsonArray } from '../db/collector.ts'
import type { Database } from '../db/connect.ts'
import type { DeliveryEvent } from '../db/delivery-event.ts'
import { TARGET_COLUMNS, type TargetRow } from './target.ts'

/** The time of a POST with its wait for a place, and a moment to store its outcome. */
const POST_AND_RECORD = `interval '14 seconds'`
/** Attempts that begin at about the same moment share a statement. */
const LINGER_MS = 1

/** Without an endpoint there is no url: the account has none any more. */
export type Found = TargetRow | { url: null }

// The first attempt of an event belongs to the process that stored it, for the time of a lease, and needs no word that it begins.
export const FIRST = `
  select d.id, ${TARGET_COLUMNS}
  from open_dispatches d left join webhook_endpoints w on w.account_id = d.account_id
  where d.id = any($1::uuid[]) and d.lease_until > clock_timestamp() + ${POST_AND_RECORD}`

/** Where the first attempt of a dispatch goes now; undefined when this process no longer holds its lease. */
export function beginFirst(db: Database): (dispatchId: string) => Promise<Found | undefined> {
  const begin = collector<{ json: string }, Found | undefined>(
    async (asked) => {
      const ids = asked.map(({ json }) => json)
      const rows = await db.$client.unsafe<(Found & { id: string })[]>(FIRST, [`{${ids}}`], { prepare: true })
      const byId = new Map(rows.map((row) => [row.id, row]))
      return ids.map((id) => byId.get(id))
    },
    { lingerMs: LINGER_MS },
  )
  return (dispatchId) => begin({ json: dispatchId })
}

export interface Asked {
  dispatchId: string
  number: number
  /** Also before it is due. */
  early?: boolean
}

/** A dispatch as it stood. `startedAtMs` (Unix) is set when the attempt begins now. */
export type Begun = Found & {
  attempt: number
  eventId: string
  isDue: boolean
  /** Its window is over. */
  isLate: boolean
  startedAtMs: number | null
}

// A row that had begun already is one whose process died: nobody knows what became of that POST.
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
  lost as (
    insert into attempts (dispatch_id, number, started_at, outcome)
    select id, attempt, started_at, 'unknown' from waiting where is_next and is_due and started_at is not null
    on conflict do nothing
  ),
  begun as (
    update open_dispatches d set started_at = clock_timestamp()
    from waiting b where d.id = b.id and b.is_next and b.is_due and not b.is_late
      and exists (select from webhook_endpoints e where e.account_id = b.account_id)
    returning d.id, d.started_at
  )
  select d.id, d.attempt, d.event_id as "eventId", d.is_due as "isDue", d.is_late as "isLate",
    (extract(epoch from begun.started_at) * 1000)::float8 as "startedAtMs", ${TARGET_COLUMNS}
  from waiting d left join begun on begun.id = d.id left join webhook_endpoints w on w.account_id = d.account_id`

/** Begins an attempt: from now on it counts as made. Undefined when the dispatch is over. */
export function beginNext(db: Database): (asked: Asked) => Promise<Begun | undefined> {
  const begin = collector<{ json: string; id: string }, Begun | undefined>(async (asked) => {
    const rows = await db.$client.unsafe<(Begun & { id: string })[]>(BEGIN, [jsonArray(asked)], { prepare: true })
    const byId = new Map(rows.map((row) => [row.id, row]))
    return asked.map(({ id }) => byId.get(id))
  })
  return ({ dispatchId, number, early = false }) =>
    begin({ id: dispatchId, json: JSON.stringify({ id: dispatchId, number, early }) })
}

export const GIVE_BACK = `update open_dispatches set started_at = null where id = $1 and attempt = $2`

/** Undoes `beginNext` for an attempt that was not made after all: its number is still to be used. */
export async function giveBack(db: Database, { dispatchId, number }: Asked): Promise<void> {
  await db.$client.unsafe(GIVE_BACK, [dispatchId, number], { prepare: true })
}

// Not prepared: only a plan made for these bounds looks at the days alone that can hold the ids.
export const EVENTS = `
  select id, message_id as "messageId", account_id as "accountId", status, reason, recipient, sandbox,
    (extract(epoch from created_at) * 1000)::float8 as "createdAtMs"
  from events where id = any($1::uuid[]) and id between $2 and $3`

/** Events by their ids, undefined when their time is over. */
export function readEvents(db: Database): (id: string) => Promise<DeliveryEvent | undefined> {
  const read = collector<{ json: string }, DeliveryEvent | undefined>(async (asked) => {
    const ids = asked.map(({ json }) => json).toSorted()
    const rows = await db.$client.unsafe<DeliveryEvent[]>(EVENTS, [`{${ids}}`, ids[0]!, ids.at(-1)!])
    const byId = new Map(rows.map((row) => [row.id, row]))
    return asked.map(({ json }) => byId.get(json))
  })
  return (id) => read({ json: id })
}
