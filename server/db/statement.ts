import type { RowList, TransactionSql } from 'postgres'
import type { Database } from './connect.ts'

// One of the two ways to SQL. Drizzle's query builder serves what touches one table or joins plainly. A statement that
// takes locks, has CTEs or serves many requests at once is a SQL constant, and `run` runs it.

type Parameter = string | number | boolean | null | Date | Uint8Array

interface RunOptions {
  /**
   * Whether a connection parses a statement with parameters once and may keep its plan. Statements that read history by
   * a range of ids are not prepared: only a plan made for these bounds leaves out the partitions of all other days.
   */
  prepare?: boolean
}

/**
 * Runs a SQL constant with its parameters, in a transaction where one is given. `count` of the result is the number of
 * rows. Without parameters the driver sends plain text, which is parsed and planned each time.
 */
export async function run<Row extends object>(
  db: Database | TransactionSql,
  statement: string,
  parameters: Parameter[] = [],
  { prepare = true }: RunOptions = {},
): Promise<RowList<Row[]>> {
  const sql = '$client' in db ? db.$client : db
  return sql.unsafe<Row[]>(statement, parameters, { prepare })
}

/** The literal of an array of UUIDs, for a parameter `$1::uuid[]`. */
export const uuidArray = (ids: readonly string[]): string => `{${ids}}`
