import type { Database } from '../db/connect.ts'
import { eq } from '../db/drizzle.ts'
import { accounts, apiKeys } from '../db/schema.ts'

/**
 * Finds an API key, of whatever account, by its hash in hexadecimal, with the tier of its account. Timing may reveal
 * bits of the hash, SHA-256 of 256 random bits, and no key.
 */
export async function findKey(db: Database, hash: string) {
  const [row] = await db
    .select({ key: apiKeys, tier: accounts.tier })
    .from(apiKeys)
    .innerJoin(accounts, eq(accounts.id, apiKeys.accountId))
    .where(eq(apiKeys.hash, Buffer.from(hash, 'hex')))
  return row
}
