import { createAccount } from '../../server/access/accounts.ts'
import { encryptionKeys } from '../../server/config/values.ts'
import { databaseClock } from '../../server/db/clock.ts'
import { connect } from '../../server/db/connect.ts'
import { createSealer } from '../../server/db/encryption.ts'
import { putEndpoint } from '../../server/webhooks/endpoints.ts'

/** A database of the product, with what its secrets are sealed with. */
export interface Place {
  databaseUrl: string
  encryptionKeys: string
}

export const sealerOf = (place: Place) => createSealer(encryptionKeys(place.encryptionKeys))

/** Makes an account for each URL, with the URL as its endpoint. Gives their ids, UUIDs. */
export async function makeEndpoints(place: Place, urls: readonly string[]): Promise<string[]> {
  const db = connect(place.databaseUrl, { connections: 1 })
  const clock = await databaseClock(db)
  const ids: string[] = []
  for (const url of urls) {
    const { id } = await createAccount(db, clock, 'Bench')
    await putEndpoint({ db, sealer: sealerOf(place) }, id, url)
    ids.push(id)
  }
  clock.stop()
  await db.$client.end()
  return ids
}

/** Sets or removes the endpoint of the account that the product's key belongs to, over its API. */
export async function configure(
  { port, key }: { port: number; key: string },
  method: 'PUT' | 'DELETE',
  url?: string,
): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const body = url && JSON.stringify({ url })
  const answer = await fetch(`http://127.0.0.1:${port}/api/v1/webhook`, { method, headers, body })
  if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`)
}
