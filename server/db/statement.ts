import type { RowList, Sql, TransactionSql } from 'postgres'
import type { Database, Transaction } from './connect.ts'

// One of the two ways to SQL. Drizzle's query builder serves what touches one table or joins plainly. A statement that
// takes locks, has CTEs or serves many requests at once is a SQL constant, and `run` runs it.

type Parameter = string | number | boolean | null | Date | Uint8Array

interface RunOptions {
  /** Whether a connection parses a statement with parameters once and may keep its plan. */
  prepare?: boolean
}

/** For statements that read history (see `idsAndBounds`), and for those that run seldom. */
export const UNPREPARED: RunOptions = { prepare: false }

/**
 * Runs a SQL constant with its parameters, in a transaction where one is given. `count` of the result is the number of
 * rows. Without parameters the driver sends plain text, which is parsed and planned each time.
 */
export async function run<Row extends object>(
  db: Database | Transaction | TransactionSql,
  statement: string,
  parameters: Parameter[] = [],
  { prepare = true }: RunOptions = {},
): Promise<RowList<Row[]>> {
  const load = 'load' in db ? db.load : undefined
  const warm = 'warm' in db ? db.warm.take() : undefined
  if (load) load.statements++
  try {
    return await (warm?.client ?? clientOf(db)).unsafe<Row[]>(statement, parameters, { prepare })
  } catch (error) {
    if ('health' in db) db.health.note(error)
    throw error
  } finally {
    if (load) load.statements--
    warm?.release()
  }
}

function clientOf(db: Database | Transaction | TransactionSql): Sql | TransactionSql {
  if ('$client' in db) return db.$client
  // The type of Drizzle's session hides its driver's client.
  return '_' in db ? (db._.session as unknown as { client: TransactionSql }).client : db
}

/** The row of a statement that always returns exactly one. */
export function one<Row>(rows: readonly Row[] & { statement?: { string: string } }): Row {
  const [row] = rows
  if (row !== undefined && rows.length === 1) return row
  const statement = rows.statement?.string.trim().slice(0, 80) ?? 'a statement of Drizzle'
  throw new Error(`${rows.length} rows instead of one: ${statement}`)
}

/** The literal of an array of UUIDs, for a parameter `$1::uuid[]`. */
export const uuidArray = (ids: readonly string[]): string => `{${ids}}`

/** SQL: a time in Unix milliseconds, or an interval in milliseconds. */
export const inMs = (time: string): string => `(extract(epoch from ${time}) * 1000)::float8`

/**
 * Three parameters of a statement that reads history by ids, at least one: the ids, the smallest and the largest, for
 * `id = any($1::uuid[]) and id between $2 and $3`. The bounds keep the look-up to the days that can have the ids. A
 * statement with bounds is not prepared: only a plan made for them leaves out the partitions of all other days.
 */
export function idsAndBounds(ids: readonly string[]): [ids: string, smallest: string, largest: string] {
  const sorted = [...new Set(ids)].sort()
  return [uuidArray(sorted), sorted[0]!, sorted.at(-1)!]
}
