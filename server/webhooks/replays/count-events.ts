import type { Database, Transaction } from '../../db/connect.ts'
import { sql } from '../../db/drizzle.ts'
import { firstIdAt, timeOfId } from '../../db/ids.ts'
import { events } from '../../db/schema.ts'
import { one } from '../../db/statement.ts'
import { type EventSelection, type IdSpan, matches } from './matching-events.ts'

/** The most events that a replay takes, and that are counted. */
export const MAX_EVENTS = 1_000_000

const HOUR_MS = 3_600_000
/** The most that one statement reads: it locks each partition of these days with its indexes. */
const MOST_MS = 18 * 24 * HOUR_MS
/** The first part of a span that a short count reads. The next part is longer, unless this one took long. */
const FIRST_MS = 2 * HOUR_MS
const GROWTH = 4
const LONG_MS = 25
/** A short count reads no further part after this time. */
const ENOUGH_MS = 50

/** Counts the selected events in a span. Returns at most `MAX_EVENTS` + 1. */
export async function countEvents(db: Database, selection: EventSelection, span: IdSpan): Promise<number> {
  return (await countNewest(db, selection, span, { enoughMs: Infinity, partMs: MOST_MS })).count
}

/**
 * Counts the newest selected events in a span for a fraction of a second. `after` is the id after which they are
 * counted; undefined when all are, or more than `most`.
 */
export function countNewest(
  db: Database,
  selection: EventSelection,
  span: IdSpan,
  { enoughMs = ENOUGH_MS, partMs = FIRST_MS, most = MAX_EVENTS } = {},
): Promise<{ count: number; after: string | undefined }> {
  return inParts(db, async (tx) => {
    const startedMs = performance.now()
    let [count, end, lengthMs] = [0, span.until, partMs]
    while (count <= most && end > span.after) {
      const partStartedMs = performance.now()
      // The first part is always read, so that calls come to an end.
      if (end < span.until && partStartedMs - startedMs > enoughMs) return { count, after: end }
      const part = lastPart(span, end, lengthMs)
      count += await countPart(tx, selection, part, most + 1 - count)
      end = part.after
      if (performance.now() - partStartedMs < LONG_MS) lengthMs = Math.min(lengthMs * GROWTH, MOST_MS)
    }
    return { count, after: undefined }
  })
}

/** The last part of a span that ends at `end`. Its start is a time, so that a filter can name it. */
function lastPart({ after }: IdSpan, end: string, lengthMs: number): IdSpan {
  const start = firstIdAt(timeOfId(end) - lengthMs)
  return { after: start > after ? start : after, until: end }
}

async function countPart(tx: Transaction, selection: EventSelection, span: IdSpan, most: number): Promise<number> {
  const found = tx
    .select({ one: sql`1`.as('one') })
    .from(events)
    .where(matches(selection, span))
    .limit(most)
    .as('found')
  return one(await tx.select({ count: sql<number>`count(*)::int` }).from(found)).count
}

/**
 * The connections of this service avoid scans and hashes, because their plans must suit tables that change in size. A
 * count reads up to a million rows of history once, so the planner is free. It joins each day by itself, and the hash
 * of a day fits into memory.
 */
function inParts<Result>(db: Database, count: (tx: Transaction) => Promise<Result>): Promise<Result> {
  return db.transaction(async (tx) => {
    await tx.execute(FREE_PLANNER)
    return count(tx)
  })
}

const FREE_PLANNER = sql`
  select set_config(name, 'on', true), set_config('work_mem', '32MB', true) from unnest(array[
    'enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'enable_partitionwise_join']) as name`
