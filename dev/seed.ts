import { hashKey } from '../server/access/api-key.ts'
import { createKey } from '../server/access/api-keys.ts'
import { SCOPES_OF } from '../server/access/scopes.ts'
import { encryptionKeys } from '../server/config/values.ts'
import { createDatabaseClock, type DatabaseClock } from '../server/db/clock.ts'
import { connect, type Database } from '../server/db/connect.ts'
import { and, inArray, isNull } from '../server/db/drizzle.ts'
import { createSealer } from '../server/db/encryption.ts'
import { apiKeys } from '../server/db/schema.ts'
import { createAccount, listAccounts } from '../server/directory/accounts.ts'
import { createDomain, listDomains } from '../server/domains/domains.ts'
import { readIfThere, writePrivately } from './private-file.ts'

/** The account of `npm start`. */
export const DEVELOPMENT = 'Development'
const DOMAIN = 'example.test'

export interface Keys {
  live: string
  test: string
}

/** Creates an account, a verified domain and two keys, unless they exist. `keysFile` stores the keys. */
export async function seed(options: { databaseUrl: string; encryptionKeys: string; keysFile: string }): Promise<Keys> {
  const db = connect(options.databaseUrl, { connections: 1 })
  const clock = await createDatabaseClock(db)
  try {
    const accounts = await listAccounts(db)
    const account = accounts.find(({ name }) => name === DEVELOPMENT) ?? (await createAccount(db, clock, DEVELOPMENT))
    if (!(await listDomains(db, account.id)).some(({ name }) => name === DOMAIN)) {
      const sealer = createSealer(encryptionKeys(options.encryptionKeys))
      await createDomain(
        { db, sealer, clock },
        { accountId: account.id, name: DOMAIN, status: 'verified', warmsUp: false },
      )
    }
    return (await storedKeys(db, options.keysFile)) ?? (await createKeys(db, clock, account.id, options.keysFile))
  } finally {
    clock.stop()
    await db.$client.end()
  }
}

/** Reads the keys of an earlier start; undefined when there are none, or they are revoked or of another database. */
async function storedKeys(db: Database, keysFile: string): Promise<Keys | undefined> {
  const text = await readIfThere(keysFile)
  if (text === undefined) return undefined
  const { live, test } = JSON.parse(text) as Keys
  const areValid = and(inArray(apiKeys.hash, [live, test].map(hashKey)), isNull(apiKeys.revokedAt))
  return (await db.$count(apiKeys, areValid)) === 2 ? { live, test } : undefined
}

async function createKeys(db: Database, clock: DatabaseClock, accountId: string, keysFile: string): Promise<Keys> {
  const create = (kind: keyof Keys) =>
    createKey(db, clock, { accountId, name: `npm start, ${kind}`, kind, scopes: SCOPES_OF[kind] })
  const keys = { live: (await create('live')).key, test: (await create('test')).key }
  await writePrivately(keysFile, JSON.stringify(keys))
  return keys
}
