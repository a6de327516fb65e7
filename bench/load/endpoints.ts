import { encryptionKeys } from '../../server/config/values.ts'
import { createDatabaseClock } from '../../server/db/clock.ts'
import { connect } from '../../server/db/connect.ts'
import { createSealer } from '../../server/db/encryption.ts'
import { createAccount } from '../../server/directory/accounts.ts'
import { putFirst } from '../../server/webhooks/endpoints/change-endpoints.ts'

/** The product's database, and the keys that seal its secrets. */
export interface Storage {
  databaseUrl: string
  encryptionKeys: string
}

export const sealerOf = (storage: Storage) => createSealer(encryptionKeys(storage.encryptionKeys))

/** Creates an account for each URL, with the URL as its endpoint. Returns the ids of the accounts (UUIDs). */
export async function createEndpoints(storage: Storage, urls: readonly string[]): Promise<string[]> {
  const db = connect(storage.databaseUrl, { connections: 1 })
  const clock = await createDatabaseClock(db)
  const ids: string[] = []
  for (const url of urls) {
    const { id } = await createAccount(db, clock, 'Bench')
    await putFirst({ db, sealer: sealerOf(storage) }, id, { url })
    ids.push(id)
  }
  clock.stop()
  await db.$client.end()
  return ids
}

/** Sets or removes, through the API, the endpoint of the account that owns the API key. */
export async function configure(
  { port, key }: { port: number; key: string },
  method: 'PUT' | 'DELETE',
  url?: string,
): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const body = url && JSON.stringify({ url })
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/webhook`, { method, headers, body })
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
}
