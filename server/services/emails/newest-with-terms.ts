import { type IdRange, newestRows } from '../../db/newest-rows.ts'

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

/** Returns the ids of up to `limit` messages with the terms, the newest first. */
export async function newestWithTerms(range: IdRange, limit: number, reads: Reads): Promise<string[]> {
  const newest = await newestRows(range, LOOKED_AT, reads.newest)
  const ids = newest.filter(({ isFound }) => isFound).map(({ id }) => id)
  const last = newest[LOOKED_AT - 1]
  if (ids.length >= limit || !last) return ids.slice(0, limit)
  const older = { from: range.from, below: last.id }
  return [...ids, ...(await newestRows(older, limit - ids.length, reads.indexed)).map(({ id }) => id)]
}
