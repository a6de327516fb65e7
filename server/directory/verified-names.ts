import { breaks } from '../db/collector.ts'
import type { Database } from '../db/connect.ts'
import { and, eq } from '../db/drizzle.ts'
import { domains } from '../db/schema.ts'

// Several accounts may add the name of a domain. One of them can verify it.

/** The account that has verified a name. */
export async function ownerOfName(db: Database, name: string): Promise<string | undefined> {
  const isIt = and(eq(domains.name, name), eq(domains.status, 'verified'))
  const [owner] = await db.select({ accountId: domains.accountId }).from(domains).where(isIt)
  return owner?.accountId
}

/** Whether a domain could not become verified because another account has verified its name. */
export const isNameTaken = (error: Error): boolean => breaks(error.cause, 'domains_verified_name')
