import type { Database } from '../db/connect.ts'
import { and, eq, gte, sql } from '../db/drizzle.ts'
import { firstIdAt } from '../db/ids.ts'
import { refusedSends } from '../db/schema.ts'
import { one } from '../db/statement.ts'
import { BREAKER_REFUSED } from '../reputation/breaker.ts'

/**
 * Counts the stored refused sends of an account since a time: all, or those that the circuit breaker of a domain
 * refused.
 */
export async function countRefused(db: Database, accountId: string, sinceMs: number, domain?: string): Promise<number> {
  const isOfBreaker =
    domain === undefined
      ? undefined
      : and(eq(refusedSends.message, BREAKER_REFUSED), eq(sql`split_part(${refusedSends.sender}, '@', -1)`, domain))
  const rows = await db
    .select({ sends: sql<number>`coalesce(sum(${refusedSends.count}), 0)::int` })
    .from(refusedSends)
    .where(and(eq(refusedSends.accountId, accountId), gte(refusedSends.id, firstIdAt(sinceMs)), isOfBreaker))
  return one(rows).sends
}
