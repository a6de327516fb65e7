import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import { CLUSTER, EPOCH, IS_KEPT, orderOf } from '../db/event-order.ts'
import { firstIdAt, timeOfId } from '../db/ids.ts'
import { later, newestRows } from '../db/newest-rows.ts'
import { oldestKeptId } from '../db/retention.ts'
import type { events } from '../db/schema.ts'
import { inMs, one, run, UNPREPARED } from '../db/statement.ts'
import { BEFORE_ALL, type Cursor, startAt } from './position.ts'

// The statements of the event stream. Each reads below the horizon: the order of the oldest transaction that is still
// open. Every transaction below it has ended, and its events are visible to this statement and to all later ones. So no
// event can ever be inserted before one that was read. The statements fail on a standby: `pg_walfile_name` does.

const HORIZON = orderOf(EPOCH, 'pg_snapshot_xmin(pg_current_snapshot())')
const TIMELINE = `('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int`

/** The state of the primary, as one statement sees it. */
export interface Horizon {
  cluster: string
  timeline: number
  /** Events of a smaller order are all visible. */
  order: number
  /** The order of the next transaction. The same as `order` when none is open. */
  next: number
  /** Whether the newest epoch is that of this cluster. */
  isKept: boolean
}

const READ_HORIZON = `
  select ${CLUSTER} as cluster, ${TIMELINE} as timeline, ${HORIZON}::float8 as order,
    ${orderOf(EPOCH, 'pg_snapshot_xmax(pg_current_snapshot())')}::float8 as next,
    ${IS_KEPT} as "isKept"`

/** An event, with the timeline that it was read on. */
export type ReadEvent = typeof events.$inferSelect & { timeline: number }
type Row = Omit<ReadEvent, 'createdAt'> & { createdMs: number }

/** The driver returns times as text. */
const CREATED_MS = inMs('e.created_at')

const COLUMNS = `
  e.id, e.message_id as "messageId", e.account_id as "accountId", e.event, e.status, e.reason, e.recipient, e.kind,
  e.tenant_id as "tenantId", e.sandbox, e.tag, e.metadata, e.feedback, e.detail, e.evidence, e.is_member as "isMember",
  e.payload, ${CREATED_MS} as "createdMs", e.stream_order::float8 as "streamOrder", ${TIMELINE} as timeline`

/** The most events that are read at a time for one cursor. */
export const PAGE = 100

/** The events after the cursors of some accounts, which have all been read up to a moment ago. */
const READ_NEW = `
  select ${COLUMNS}
  from unnest($1::uuid[], $2::bigint[], $3::uuid[]) as cursor(account_id, stream_order, id)
  cross join lateral (
    select * from events e
    where e.account_id = cursor.account_id and e.stream_order > 0
      and (e.stream_order, e.id) > (cursor.stream_order, cursor.id) and e.stream_order < ${HORIZON}
      and e.id >= $4 and e.id < $5
    order by e.stream_order, e.id limit ${PAGE}
  ) e`

/** The next events of an account that have an order. */
const READ_ORDERED = `
  select ${COLUMNS} from events e
  where e.account_id = $1 and e.stream_order > 0 and (e.stream_order, e.id) > ($2, $3) and e.stream_order < ${HORIZON}
    and e.id >= $4 and e.id < $5
  order by e.stream_order, e.id limit ${PAGE}`

/** The next events of an account that have none: those of releases before 0.3, which come before all others. */
const READ_UNORDERED = `
  select ${COLUMNS} from events e
  where e.account_id = $1 and e.stream_order = 0 and e.id > $2 and e.id < $3
  order by e.id limit ${PAGE}`

const NEWEST = `
  select e.stream_order::float8 as order, e.id from events e
  where e.account_id = $1 and e.stream_order > 0 and e.stream_order < ${HORIZON} and e.id >= $2 and e.id < $3
  order by e.stream_order desc, e.id desc limit 1`

const FIND = 'select 1 from events where id = $1 and account_id = $2 and stream_order = $3'

/** The first moment of the day before the newest epochs began: older events have no order, and no index by it. */
const SINCE = `select ${inMs('min(since)')} as ms from event_orders`

const DAY_MS = 86_400_000
/**
 * An event's id has the time at which its transaction began. This is far longer than a transaction waits for its id, or
 * than one that is open now can have been open.
 */
const SLACK_MS = DAY_MS

/** Reads the events of accounts in the order of the stream, from the primary. */
export class EventReads {
  readonly #db: Database
  readonly #clock: DatabaseClock
  #sinceMs: Promise<number> | undefined

  constructor(db: Database, clock: DatabaseClock) {
    this.#db = db
    this.#clock = clock
  }

  async horizon(): Promise<Horizon> {
    return one(await run<Horizon>(this.#db, READ_HORIZON))
  }

  /** Reads what was committed after each cursor, up to 100 events of each, by transactions that began after a time. */
  async readNew(cursors: readonly (Cursor & { accountId: string })[], sinceMs: number): Promise<ReadEvent[]> {
    const from = later(await this.#orderedFrom(), firstIdAt(sinceMs - SLACK_MS))
    const list = (values: (string | number)[]) => `{${values}}`
    const accounts = list(cursors.map(({ accountId }) => accountId))
    const orders = list(cursors.map(({ order }) => order))
    const ids = list(cursors.map(({ id }) => id))
    return this.#read(READ_NEW, [accounts, orders, ids, from, this.#end()])
  }

  /** Reads up to 100 events of an account after a cursor. Fewer than 100: these are all. */
  async readPage(accountId: string, after: Cursor): Promise<ReadEvent[]> {
    if (after.order > 0) return this.#readOrdered(accountId, after)
    const from = later(after.id, oldestKeptId(this.#clock))
    // Events of the days after the upgrade all have an order.
    const below = firstIdAt((await this.#firstOrdered()) + 3 * DAY_MS)
    if (from >= below) return this.#readOrdered(accountId, after)
    const old = await this.#read(READ_UNORDERED, [accountId, from, below])
    return old.length === PAGE ? old : [...old, ...(await this.#readOrdered(accountId, after))].slice(0, PAGE)
  }

  /** The cursor after all events of an account that are visible now. */
  async newest(accountId: string): Promise<Cursor> {
    const range = { from: await this.#orderedFrom(), below: this.#end() }
    const [row] = await newestRows(range, 1, ({ from, below }) =>
      run<Cursor>(this.#db, NEWEST, [accountId, from, below], UNPREPARED),
    )
    return row ?? startAt(this.#clock.now())
  }

  /** Whether an event is stored at exactly this place. */
  async isStored(accountId: string, { order, id }: Cursor): Promise<boolean> {
    return (await run(this.#db, FIND, [id, accountId, order], UNPREPARED)).length > 0
  }

  async #readOrdered(accountId: string, after: Cursor): Promise<ReadEvent[]> {
    const slackBefore = after.order === 0 ? BEFORE_ALL.id : firstIdAt(timeOfId(after.id) - SLACK_MS)
    const from = later(await this.#orderedFrom(), slackBefore)
    return this.#read(READ_ORDERED, [accountId, after.order, after.id, from, this.#end()])
  }

  async #read(statement: string, parameters: (string | number)[]): Promise<ReadEvent[]> {
    const rows = await run<Row>(this.#db, statement, parameters, UNPREPARED)
    return rows.map(({ createdMs, ...row }) => ({ ...row, createdAt: new Date(createdMs) }))
  }

  async #orderedFrom(): Promise<string> {
    return later(oldestKeptId(this.#clock), firstIdAt(await this.#firstOrdered()))
  }

  #firstOrdered(): Promise<number> {
    this.#sinceMs ??= run<{ ms: number | null }>(this.#db, SINCE).then(
      (rows) => Math.floor((one(rows).ms ?? 0) / DAY_MS - 1) * DAY_MS,
      (error) => {
        this.#sinceMs = undefined
        throw error
      },
    )
    return this.#sinceMs
  }

  /** An id may be a little ahead of this process's clock. */
  #end(): string {
    return firstIdAt(this.#clock.now() + DAY_MS)
  }
}
