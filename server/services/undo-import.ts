import { changeAs, type Requester } from '../access/audit/change-as.ts'
import { type Author, record } from '../access/audit/record-change.ts'
import type { Database, Transaction } from '../db/connect.ts'
import { and, eq, sql } from '../db/drizzle.ts'
import { publicId } from '../db/ids.ts'
import { suppressionImports } from '../db/people-schema.ts'
import { fail } from '../errors.ts'
import { countImported, type Undone, undoStep } from '../reputation/undo-import.ts'

/**
 * Undoes an import in commits of 5,000 entries, because a long transaction would hold up streams of events. The audit
 * log has it once, in the first commit. A repeat continues one that was interrupted. Throws `not_found` when the import
 * is unknown or none of its entries is left.
 */
export async function undoImport(db: Database, requester: Requester, importId: string): Promise<Undone> {
  const { accountId } = requester
  const sum = await changeAs(db, requester, async (tx, author) => {
    const entries = await countImported(tx, accountId, importId)
    await begin(tx, author, importId, entries)
    return undoStep(tx, accountId, importId)
  })
  for (let last = sum; last.removed + last.restored > 0; ) {
    last = await changeAs(db, requester, (tx) => undoStep(tx, accountId, importId))
    sum.removed += last.removed
    sum.restored += last.restored
  }
  return { removed: sum.removed, restored: sum.restored }
}

/** Ends an import of the dashboard, so that no part is added any more, and records the undoing. */
async function begin(tx: Transaction, author: Author, importId: string, entries: number): Promise<void> {
  const { accountId } = author
  const isThis = and(eq(suppressionImports.id, importId), eq(suppressionImports.accountId, accountId))
  const [row] = await tx.select().from(suppressionImports).where(isThis).for('update')
  const id = publicId('imp', importId)
  if (entries === 0 && row?.state !== 'running') throw fail('not_found', `No entry of import ${id} is on a list.`)
  if (row) {
    const endedAt = sql`coalesce(${suppressionImports.endedAt}, clock_timestamp())`
    await tx.update(suppressionImports).set({ state: 'undone', endedAt }).where(isThis)
  }
  const target = row ? row.fileName : id
  await record(tx, { ...author, action: 'suppression.undo_import', target, after: { entries, import_id: id } })
}
