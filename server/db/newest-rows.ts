import { firstIdAt, timeOfId } from './ids.ts'

/** The ids of a part of history: `from` is included, `below` is not. */
export interface IdRange {
  from: string
  below: string
}

const DAY_MS = 86_400_000
/** The days that the first statement reads, how many times as many the next one reads, and the most of one. */
const FIRST_DAYS = 2
const GROWTH = 3
const MOST_DAYS = 18

/**
 * Reads up to `limit` rows of history, the newest first. It goes back a few days at a time, and `read` reads one such
 * range. A statement plans and locks every index of every day in its range. For all 90 days these are 900 of the 6,400
 * locks that PostgreSQL has for all its sessions (docs/adr/0058-lists.md).
 */
export async function newestRows<Row>(
  { from, below }: IdRange,
  limit: number,
  read: (range: IdRange, limit: number) => Promise<Row[]>,
): Promise<Row[]> {
  const rows: Row[] = []
  let end = below
  for (let days = FIRST_DAYS; rows.length < limit && end > from; days = Math.min(days * GROWTH, MOST_DAYS)) {
    const start = later(from, firstIdAt(timeOfId(end) - days * DAY_MS))
    rows.push(...(await read({ from: start, below: end }, limit - rows.length)))
    end = start
  }
  return rows
}

/** What was found in time, and the id below which the rest is. */
export interface FoundInTime<Row> {
  rows: Row[]
  stoppedAt?: string
}

/** How long a page is searched for before it says where it stopped. */
const SEARCH_MS = 1_000

/** The part of history that the first statement of a search reads, and how long each of its statements should take. */
const FIRST_SEARCHED_MS = 3_600_000
const STATEMENT_MS = 100

/**
 * As `newestRows`, where few of very many rows may match: only for `SEARCH_MS`. The slower the statements are, the less
 * of history each reads: a day of a large account has emails for seconds.
 */
export async function newestRowsInTime<Row>(
  { from, below }: IdRange,
  limit: number,
  read: (range: IdRange, limit: number) => Promise<Row[]>,
): Promise<FoundInTime<Row>> {
  const untilMs = performance.now() + SEARCH_MS
  const rows: Row[] = []
  let end = below
  let spanMs = FIRST_SEARCHED_MS
  while (rows.length < limit && end > from) {
    const beganAtMs = performance.now()
    if (beganAtMs > untilMs) return { rows, stoppedAt: end }
    const start = later(from, firstIdAt(timeOfId(end) - spanMs))
    rows.push(...(await read({ from: start, below: end }, limit - rows.length)))
    const growth = STATEMENT_MS / (performance.now() - beganAtMs)
    spanMs = clamp(Math.floor(spanMs * clamp(growth, 1 / GROWTH, GROWTH)), 1, MOST_DAYS * DAY_MS)
    end = start
  }
  return { rows }
}

const clamp = (value: number, least: number, most: number) => Math.min(Math.max(value, least), most)

interface Bounds {
  /** The smallest id that history can hold. */
  oldest: string
  nowMs: number
  /** The filters `from` and `to`, in Unix milliseconds. */
  fromMs: number | undefined
  toMs: number | undefined
  /** The id after which the page begins. */
  after: string | undefined
}

/** The ids that a page can hold. An id may be a little ahead of this process's clock. */
export function pageRange({ oldest, nowMs, fromMs, toMs, after }: Bounds): IdRange {
  const ends = [firstIdAt(nowMs + DAY_MS), toMs === undefined ? undefined : firstIdAt(toMs), after]
  return {
    from: fromMs === undefined ? oldest : later(oldest, firstIdAt(fromMs)),
    below: ends.filter((end) => end !== undefined).reduce(earlier),
  }
}

const earlier = (a: string, b: string) => (a < b ? a : b)
export const later = (a: string, b: string) => (a > b ? a : b)
