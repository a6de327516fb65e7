import { type FoundInTime, type IdRange, newestRowsInTime } from '../../db/newest-rows.ts'

// The index of terms finds all messages of a day that have them, in no order: a term that most messages have would be
// read by the hundred thousand for one page. Such a page is in the newest messages of the account, which are looked at
// first. Terms that are too rare for that are few in the index.

/** How many of the newest messages are looked at one by one. It takes about 20 us for each. */
const LOOKED_AT = 500

interface Reads {
  /** The newest messages that match all other filters, and whether they have the terms. */
  newest(range: IdRange, limit: number): Promise<{ id: string; isFound: boolean }[]>
  /** The newest messages that match all filters, found by the index of terms. */
  indexed(range: IdRange, limit: number): Promise<{ id: string }[]>
}

/** Finds up to `limit` messages with the terms, the newest first. */
export async function newestWithTerms(
  range: IdRange,
  limit: number,
  reads: Reads,
): Promise<FoundInTime<{ id: string }>> {
  const newest = await newestRowsInTime(range, LOOKED_AT, reads.newest)
  const rows = newest.rows.filter(({ isFound }) => isFound)
  const last = newest.rows[LOOKED_AT - 1]
  if (rows.length >= limit || !last) return { ...newest, rows: rows.slice(0, limit) }
  const older = await newestRowsInTime({ from: range.from, below: last.id }, limit - rows.length, reads.indexed)
  return { ...older, rows: [...rows, ...older.rows] }
}
