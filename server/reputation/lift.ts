import type { Database, Transaction } from '../db/connect.ts'
import { and, desc, eq, inArray } from '../db/drizzle.ts'
import { suppressions } from '../db/schema.ts'
import { run } from '../db/statement.ts'
import { matchingFilters, type SuppressionFilters, type SuppressionRow } from './suppression-list.ts'

/** Entries in one commit. */
const STEP = 1_000

/** The entries of an account that a lift removes: never those of complaints and imports, or added by hand. */
export type LiftFilters = Omit<SuppressionFilters, 'addresses' | 'reason' | 'after'>

const isLifted = (accountId: string, filters: LiftFilters) =>
  and(eq(suppressions.accountId, accountId), matchingFilters({ ...filters, reason: 'bounce' }))

const FORGIVE = `
  delete from refusals r using json_to_recordset($2::json) as lifted(email text, "tenantId" text)
  where r.account_id = $1 and r.email = lifted.email and r.tenant_id = lifted."tenantId"`

/** Removes the next 1,000 entries, newest first, and what counted against their addresses. */
export async function liftStep(tx: Transaction, accountId: string, filters: LiftFilters): Promise<SuppressionRow[]> {
  const rows = await tx
    .select()
    .from(suppressions)
    .where(isLifted(accountId, filters))
    .orderBy(desc(suppressions.id))
    .limit(STEP)
    .for('update')
  if (rows.length === 0) return rows
  const ids = rows.map(({ id }) => id)
  await tx.delete(suppressions).where(inArray(suppressions.id, ids))
  await run(tx, FORGIVE, [accountId, JSON.stringify(rows.map(({ email, tenantId }) => ({ email, tenantId })))])
  return rows
}

/** What a lift would remove: the number of entries, and the newest of them. */
export async function previewLift(db: Database, accountId: string, filters: LiftFilters, shown: number) {
  const where = isLifted(accountId, filters)
  const lifted = await db.$count(suppressions, where)
  const rows = await db.select().from(suppressions).where(where).orderBy(desc(suppressions.id)).limit(shown)
  return { lifted, rows }
}
