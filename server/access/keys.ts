import { and, asc, eq, getTableColumns, sql } from 'drizzle-orm'
import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import { newId } from '../db/ids.ts'
import { apiKeys } from '../db/schema.ts'
import { hashKey, hintOfKey, type KeyKind, makeKey } from './key.ts'

const { hash: _, ...shown } = getTableColumns(apiKeys)

export type ApiKey = Omit<typeof apiKeys.$inferSelect, 'hash'>

export interface NewKey {
  accountId: string
  name: string
  kind: KeyKind
  /** Of SCOPES. */
  scopes: readonly string[]
  expiresAt?: Date
}

/** Makes a key. Its text is in the answer and nowhere else: only its hash is stored. */
export async function createKey(
  db: Database,
  clock: DatabaseClock,
  { accountId, name, kind, scopes, expiresAt }: NewKey,
): Promise<{ key: string; apiKey: ApiKey }> {
  const key = makeKey(kind)
  const [apiKey] = await db
    .insert(apiKeys)
    .values({
      id: newId(clock.now()),
      accountId,
      name,
      hint: hintOfKey(key),
      hash: hashKey(key),
      test: kind === 'test',
      scopes: [...scopes],
      expiresAt,
    })
    .returning(shown)
  return { key, apiKey: apiKey! }
}

/** The oldest first, revoked and expired ones too. */
export async function listKeys(db: Database, accountId: string): Promise<ApiKey[]> {
  return db.select(shown).from(apiKeys).where(eq(apiKeys.accountId, accountId)).orderBy(asc(apiKeys.id))
}

/** The key as it is now, with the time of its first revocation; undefined when the account has no such key. */
export async function revokeKey(db: Database, accountId: string, keyId: string): Promise<ApiKey | undefined> {
  const [apiKey] = await db
    .update(apiKeys)
    .set({ revokedAt: sql`coalesce(${apiKeys.revokedAt}, clock_timestamp())` })
    .where(and(eq(apiKeys.accountId, accountId), eq(apiKeys.id, keyId)))
    .returning(shown)
  return apiKey
}
