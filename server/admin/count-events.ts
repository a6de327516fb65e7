import type { Database } from '../db/connect.ts'
import { sql } from '../db/drizzle.ts'
import { firstIdAt, timeOfId } from '../db/ids.ts'
import { events } from '../db/schema.ts'
import type { IdSpan, matches } from './replay-filter.ts'

/** The most events that a replay takes, and that are counted. */
export const MAX_EVENTS = 1_000_000

const DAY_MS = 86_400_000
/** The days that one statement reads: it locks each partition of them with its indexes. */
const STEP_DAYS = 18

/**
 * Counts the events in a span, the newest days first. Returns at most `MAX_EVENTS` + 1.
 *
 * The connections of this service avoid scans and hashes, because their plans must suit tables that change in size.
 * This count reads up to a million rows of history once, so the planner is free. It joins each day by itself, and the
 * hash of a day fits into memory.
 */
export async function countEvents(
  db: Database,
  { after, until }: IdSpan,
  where: (span: IdSpan) => ReturnType<typeof matches>,
): Promise<number> {
  return db.transaction(async (tx) => {
    await tx.execute(FREE_PLANNER)
    let count = 0
    for (let end = until; count <= MAX_EVENTS && end > after; ) {
      const start = firstIdAt(timeOfId(end) - STEP_DAYS * DAY_MS)
      const span = { after: start > after ? start : after, until: end }
      const found = tx
        .select({ one: sql`1`.as('one') })
        .from(events)
        .where(where(span))
        .limit(MAX_EVENTS + 1 - count)
        .as('found')
      const [row] = await tx.select({ count: sql<number>`count(*)::int` }).from(found)
      count += row!.count
      end = span.after
    }
    return count
  })
}

const FREE_PLANNER = sql`
  select set_config(name, 'on', true), set_config('work_mem', '32MB', true) from unnest(array[
    'enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'enable_partitionwise_join']) as name`
