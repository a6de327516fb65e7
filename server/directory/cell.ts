import type { Database, Transaction } from '../db/connect.ts'
import { sql } from '../db/drizzle.ts'
import { apiKeys, cell } from '../db/schema.ts'

// Several installations behind one name are cells. A key says in which cell its account lives, so that a proxy sends a
// request there by its `Authorization` alone (docs/scaling.md). The name is a row, not a variable: an API process and
// the command line of an operator can then never make keys of different cells.

const ONLY = 1

/** The name of the cell that this installation is; undefined when it is none. */
export async function readCell(db: Database | Transaction): Promise<string | undefined> {
  const [row] = await db.select({ name: cell.name }).from(cell)
  return row?.name
}

/** Names the cell. New keys carry its name, and existing keys stay as they are. */
export async function nameCell(db: Database, name: string): Promise<void> {
  await db.insert(cell).values({ id: ONLY, name }).onConflictDoUpdate({ target: cell.id, set: { name } })
}

/**
 * The two characters that existing keys have in place of the name, sorted. A proxy would send these keys to a cell of
 * that name, so no other cell may have it.
 */
export async function namesInKeys(db: Database): Promise<string[]> {
  // After `svc_live_` or `svc_test_`.
  const rows = await db.selectDistinct({ name: sql<string>`substr(${apiKeys.hint}, 10, 2)` }).from(apiKeys)
  return rows.map(({ name }) => name).sort()
}
