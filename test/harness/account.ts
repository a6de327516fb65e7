import { createKey } from '../../server/access/api-keys.ts'
import { SCOPES } from '../../server/access/scopes.ts'
import { encryptionKeys } from '../../server/config/values.ts'
import { createDatabaseClock, type DatabaseClock } from '../../server/db/clock.ts'
import type { Database } from '../../server/db/connect.ts'
import { createSealer } from '../../server/db/encryption.ts'
import { createAccount } from '../../server/directory/accounts.ts'
import { createDomain } from '../../server/domains/domains.ts'
import { type TestDatabase, testDatabase } from './postgres.ts'
import { untilEnd } from './until-end.ts'

export interface TestAccount extends TestDatabase {
  clock: DatabaseClock
  accountId: string
}

/** Creates a clock and one account in their own database. In this one, its creator stops the clock. */
export async function testAccount(on?: TestDatabase): Promise<TestAccount> {
  const database = on ?? (await testDatabase())
  const clock = await createDatabaseClock(database.db)
  if (!on) untilEnd(clock)
  const { id: accountId } = await createAccount(database.db, clock, 'Test')
  return { ...database, clock, accountId }
}

/**
 * Creates an account with a verified domain and a live key with all scopes. The API must run with the same
 * `ENCRYPTION_KEYS`.
 */
export async function openAccount(db: Database, ENCRYPTION_KEYS: string, domain: string) {
  const sealer = createSealer(encryptionKeys(ENCRYPTION_KEYS))
  const clock = await createDatabaseClock(db)
  const { id } = await createAccount(db, clock, 'Test')
  const newKey = { accountId: id, name: 'test', kind: 'live', scopes: SCOPES } as const
  const { key, apiKey } = await createKey(db, clock, newKey)
  const { dkimKeys } = await createDomain({ db, sealer, clock }, { accountId: id, name: domain, status: 'verified' })
  clock.stop()
  return { id, key, keyId: apiKey.id, dkimKeys }
}
