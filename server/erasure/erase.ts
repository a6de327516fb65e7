import { setTimeout as sleep } from 'node:timers/promises'
import type { TransactionSql } from 'postgres'
import { type Author, record } from '../access/audit/record-change.ts'
import type { DatabaseClock } from '../db/clock.ts'
import { sqlStateOf } from '../db/collector.ts'
import type { Database } from '../db/connect.ts'
import { firstIdAt, newId } from '../db/ids.ts'
import { LEASE_S, type Lease, takeLease } from '../db/leases.ts'
import { matchingSql } from '../db/matching-sql.ts'
import { HISTORY } from '../db/schema.ts'
import { inMs, one, run, UNPREPARED } from '../db/statement.ts'
import { MOVING_LOCK, RESTING_LEASE } from '../reputation/open-statistics.ts'
import { pauseAfter } from './pause.ts'
import { type AddressPlace, type ColumnKind, erasedFields, PLACES, storedText } from './places.ts'
import { type ErasureProgress, meterOf } from './progress.ts'
import { type Found, find, type Part, partsOf, type Range, rangesOf, SEARCH_MS } from './scan.ts'
import type { Wanted } from './spellings.ts'

/** The changed rows, by account and table. */
export type ErasedRows = Record<string, Record<string, number>>

export interface ErasureParts {
  db: Database
  clock: DatabaseClock
  /** The operator, as the author of an account's entry in the audit log. */
  authorOf(accountId: string): Author
  progress?(progress: ErasureProgress): void
  /** How long to wait for sends to the address that have not ended. */
  waitMs?: number
}

export interface Erasure {
  wanted: Wanted
  /** All accounts when undefined. */
  accountId?: string
}

const UNDEFINED_TABLE = '42P01'
/** One erasure runs at a time, and none while a day of history is written into the archive. */
export const ERASURE_LEASE = 'erasure'

export class ErasureRuns extends Error {}

/**
 * Replaces an address in the whole database, batch by batch, and goes on where an interrupted erasure of it stopped.
 * Each commit proves that no other erasure has begun meanwhile; after that it throws LeaseLost.
 */
export async function erase(
  parts: ErasureParts,
  erasure: Erasure,
): Promise<{ counts: ErasedRows; isResumed: boolean }> {
  const lease = await takeLease(parts.db, ERASURE_LEASE)
  if (!lease) throw new ErasureRuns('another erasure is running')
  try {
    const state = await begin(parts, erasure, lease)
    await eraseParts(parts, erasure, state)
    await eraseLate(parts, erasure, state)
    await eraseMoved(parts, erasure, state)
    await finish(parts, erasure, state)
    return { counts: state.counts, isResumed: state.isResumed }
  } finally {
    await lease.free().catch(() => {})
  }
}

/** Counts the rows that an erasure would change. Changes nothing. */
export async function countMentions({ db, progress }: ErasureParts, erasure: Erasure): Promise<ErasedRows> {
  const counts: ErasedRows = {}
  for await (const { part, found } of mentionsOf(db, erasure, progress)) add(counts, part.place, found)
  return counts
}

/** Yields, batch by batch, the rows of the whole database that mention the address. */
export async function* mentionsOf(db: Database, erasure: Erasure, progress?: ErasureParts['progress']) {
  const all = await partsOf(db)
  const meter = meterOf(all, progress)
  for (const part of all) {
    try {
      for await (const range of rangesOf(db, part, 0, erasure.wanted)) {
        const found = await find(db, part, range, erasure)
        meter(part, range, found.length)
        if (found.length > 0) yield { part, found }
      }
    } catch (error) {
      ignoreDropped(error)
    }
    meter(part)
  }
}

interface State {
  id: string
  place: string
  block: number
  counts: ErasedRows
  isResumed: boolean
  /** Unix milliseconds, by the clock of the database. */
  startedAtMs: number
  /** Every transaction renews them before it changes anything. */
  leases: Lease[]
}

const RUNNING = `
  select id, place, block, counts, ${inMs('started_at')} as "startedAtMs", true as "isResumed" from erasures
  where erased = $1 and account_id is not distinct from $2::uuid and finished_at is null
  order by started_at desc limit 1`
const BEGIN = `
  insert into erasures (id, erased, account_id, counts) values ($1, $2, $3, '{}')
  returning id, place, block, counts, ${inMs('started_at')} as "startedAtMs", false as "isResumed"`

async function begin(
  { db, clock }: ErasureParts,
  { wanted, accountId = null }: Omit<Erasure, 'accountId'> & { accountId?: string | null },
  lease: Lease,
): Promise<State> {
  return db.$client.begin(async (tx) => {
    await lease.renew(tx)
    const [running] = await run<State>(tx, RUNNING, [wanted.erased, accountId])
    const begun = running ?? one(await run<State>(tx, BEGIN, [newId(clock.now()), wanted.erased, accountId]))
    return { ...begun, leases: [lease] }
  })
}

async function eraseParts(parts: ErasureParts, erasure: Erasure, state: State): Promise<void> {
  const all = await partsOf(parts.db)
  const meter = meterOf(all, parts.progress)
  const first = Math.max(
    0,
    all.findIndex(({ name }) => name === state.place),
  )
  for (const part of all.slice(first)) {
    try {
      await erasePart(part)
    } catch (error) {
      ignoreDropped(error)
    }
    meter(part)
  }

  async function erasePart(part: Part): Promise<void> {
    const fromBlock = part.name === state.place ? state.block : 0
    let startedAt = performance.now()
    for await (const range of rangesOf(parts.db, part, fromBlock, erasure.wanted)) {
      const found = await eraseRange(parts.db, part, range, erasure, state)
      meter(part, range, found.length)
      await pauseAfter(parts.db, performance.now() - startedAt)
      startedAt = performance.now()
    }
  }
}

// The batches need not wait for the disk: one that a crash loses is erased again, as its progress is lost with it, and
// the commit at the end makes all of them durable. A process that is frozen in a batch holds its rows as long as its
// lease.
const SETTINGS = `
  select set_config('verdict.erasing', 'on', true), set_config('synchronous_commit', 'off', true),
    set_config('idle_in_transaction_session_timeout', '${LEASE_S}s', true),
    set_config('statement_timeout', '${SEARCH_MS}', true)`

/** One batch: its rows and the progress change in one commit. Returns the rows that have changed, as they were. */
function eraseRange(
  db: Database,
  part: Pick<Part, 'place' | 'name'>,
  range: Range,
  erasure: Erasure,
  state: State,
): Promise<Found[]> {
  const { place } = part
  return db.$client.begin(async (tx) => {
    await run(tx, SETTINGS)
    const found = await find(tx, part, range, { ...erasure, forUpdate: true })
    // After the search: it takes long, and streams of events wait for a transaction that has written.
    for (const lease of state.leases) await lease.renew(tx)
    if (found.length > 0 && place.table === 'suppressions') await keepOneEntry(tx, erasure)
    for (const rows of Object.values(Object.groupBy(found, ({ part }) => part)) as Found[][])
      for (let i = 0; i < rows.length; i += ROWS_PER_STATEMENT)
        await replaceRows(tx, place, rows.slice(i, i + ROWS_PER_STATEMENT), erasure.wanted)
    const counts = structuredClone(state.counts)
    add(counts, place, found)
    const reached = reachedBy(part, range) ?? state
    await run(tx, 'update erasures set place = $2, block = $3, counts = $4::text::json where id = $1', [
      state.id,
      reached.place,
      reached.block,
      JSON.stringify(counts),
    ])
    Object.assign(state, { place: reached.place, block: reached.block, counts })
    return found
  })
}

/** Where an interrupted erasure goes on after this range. The candidates of a day are searched again. */
function reachedBy({ name }: Pick<Part, 'name'>, range: Range): Pick<State, 'place' | 'block'> | undefined {
  if ('where' in range) return undefined
  return { place: name, block: 'to' in range ? range.to : 0 }
}

/** Enough that planning does not count, and few enough for one text, as a request may have 10 MB. */
const ROWS_PER_STATEMENT = 25

/** Replaces the address in rows of the same table or day. */
async function replaceRows(tx: TransactionSql, place: AddressPlace, found: Found[], wanted: Wanted): Promise<void> {
  const columns = Object.entries(place.columns)
  const rows = found.map(({ at, row }) => {
    const erased = erasedFields(place, row, wanted)
    return { at, ...Object.fromEntries(columns.map(([column, kind]) => [column, storedText(kind, erased[column])])) }
  })
  const changes = columns.map(([column, kind]) => `${column} = ${storedValue(kind, `v.${column}`)}`)
  if (place.set) changes.push(place.set)
  const statement = `
    update ${found[0]!.part} t
    set ${changes.join(', ')}
    from json_to_recordset($1::text::json) as v("at" tid, ${columns.map(([column]) => `${column} text`).join(', ')})
    where t.ctid = v."at"`
  await run(tx, statement, [JSON.stringify(rows)], UNPREPARED)
}

/** SQL: what a column stores of the text that `storedText` makes. */
const storedValue = (kind: ColumnKind, text: string) =>
  ({
    text,
    mailbox: text,
    list: `case when ${text} is not null then array(select json_array_elements_text(${text}::json)) end`,
    json: `${text}::json`,
    request: `${text}::json`,
    answer: `decode(${text}, 'hex')`,
  })[kind]

// The address may have been suppressed again after an earlier erasure. Of two entries of a list the longer one stays.
const KEEP_ONE = `
  delete from suppressions x using suppressions y
  where x.account_id = y.account_id and x.tenant_id = y.tenant_id
    and (x.email = $1 and y.email = $2 or x.email = $2 and y.email = $1)
    and (coalesce(x.expires_at, 'infinity'), x.id) < (coalesce(y.expires_at, 'infinity'), y.id)
    and ($3::uuid is null or x.account_id = $3)`

const keepOneEntry = (tx: TransactionSql, { wanted, accountId = undefined }: Erasure) =>
  run(tx, KEEP_ONE, [wanted.address, wanted.erased, accountId ?? null])

const OPEN_SENDS = `
  select count(*)::int as sends from open_recipients r join open_messages m on m.id = r.message_id
  where ${matchingSql('r.email')} = $1 and ($2::uuid is null or m.account_id = $2)`
const POLL_MS = 500
/** Longer than the lease of any send. */
const WAIT_MS = 90_000

/** Waits for the sends that were in flight, and erases what they and later ones have stored in the meantime. */
async function eraseLate(parts: ErasureParts, erasure: Erasure, state: State): Promise<void> {
  const { db, clock, waitMs = WAIT_MS } = parts
  const { wanted, accountId } = erasure
  const giveUpAt = performance.now() + waitMs
  for (;;) {
    const { sends } = one(await run<{ sends: number }>(db, OPEN_SENDS, [wanted.address, accountId ?? null]))
    if (sends === 0 || performance.now() > giveUpAt) break
    await sleep(POLL_MS)
  }
  const now = clock.now()
  for (const place of PLACES) {
    const part = { place, name: place.table }
    const idColumn = HISTORY[place.table as keyof typeof HISTORY]
    if (idColumn === undefined) {
      if (LATE.includes(place.table)) await eraseRange(db, part, { where: 'true' }, erasure, state)
      continue
    }
    for (let from = state.startedAtMs - WAIT_MS; from < now; from += WINDOW_MS) {
      const where = `t.${idColumn} >= '${firstIdAt(from)}' and t.${idColumn} < '${firstIdAt(from + WINDOW_MS)}'`
      await eraseRange(db, part, { where }, erasure, state)
    }
  }
}

/** The tables beside history that sends write to. */
const LATE = ['feedback', 'suppressions', 'refusals', 'refused_sends', 'batch_keys']
/** The tables whose rows are added up to other ones: see open-statistics.ts. */
const MOVED = ['open_stats', 'group_stats']
/** As much of history as one statement reads. A commit that finds the address makes streams of events wait for it. */
const WINDOW_MS = 60_000

/**
 * Searches the statistics once more, while nothing moves in them. The first search missed a row that was moved from a
 * place that it had not reached to one that it had passed, or that had no commit yet. Statistics wait meanwhile, and
 * their readers count what is not added up.
 */
async function eraseMoved({ db }: ErasureParts, erasure: Erasure, state: State): Promise<void> {
  const resting = await restStatistics(db)
  state.leases.push(resting)
  try {
    for (const part of await partsOf(db)) {
      if (!MOVED.includes(part.name)) continue
      for await (const range of rangesOf(db, part, 0, erasure.wanted)) {
        const startedAt = performance.now()
        await eraseRange(db, part, range, erasure, state)
        await pauseAfter(db, performance.now() - startedAt)
      }
    }
  } finally {
    state.leases.pop()
    await resting.free().catch(() => {})
  }
}

/** Waits for what moves rows now, and for the lease of an erasure that was killed. */
async function restStatistics(db: Database): Promise<Lease> {
  for (;;) {
    const lease = await takeLease(db, RESTING_LEASE, (tx) => run(tx, `select pg_advisory_xact_lock(${MOVING_LOCK})`))
    if (lease) return lease
    await sleep(POLL_MS)
  }
}

async function finish(parts: ErasureParts, { wanted }: Erasure, { id, counts, leases }: State): Promise<void> {
  const { db, authorOf } = parts
  await db.transaction(async (tx) => {
    for (const lease of leases) await lease.renew(tx)
    for (const [accountId, after] of Object.entries(counts)) {
      if (accountId !== '')
        await record(tx, { ...authorOf(accountId), action: 'address.erase', target: wanted.erased, after })
    }
    await run(tx, 'update erasures set finished_at = now() where id = $1', [id])
  })
}

function add(counts: ErasedRows, { table }: AddressPlace, found: Found[]): void {
  for (const { accountId } of found) {
    const ofAccount = counts[accountId] ?? {}
    counts[accountId] = { ...ofAccount, [table]: (ofAccount[table] ?? 0) + 1 }
  }
}

/** A day of history may be dropped while it is searched. */
function ignoreDropped(error: unknown): void {
  if (sqlStateOf(error) !== UNDEFINED_TABLE) throw error
}
