import { createAccount } from '../../server/access/accounts.ts'
import { encryptionKeys } from '../../server/config-values.ts'
import { databaseClock } from '../../server/db/clock.ts'
import { connect } from '../../server/db/connect.ts'
import { createSealer } from '../../server/db/encryption.ts'
import { putEndpoint } from '../../server/webhooks/endpoints.ts'

/** Makes an account for each URL, with the URL as its endpoint. Gives their ids, UUIDs. */
export async function makeEndpoints(
  place: { databaseUrl: string; encryptionKeys: string },
  urls: readonly string[],
): Promise<string[]> {
  const db = connect(place.databaseUrl, { connections: 1 })
  const clock = await databaseClock(db)
  const sealer = createSealer(encryptionKeys(place.encryptionKeys))
  const ids: string[] = []
  for (const url of urls) {
    const { id } = await createAccount(db, clock, 'Bench')
    await putEndpoint({ db, sealer }, id, url)
    ids.push(id)
  }
  clock.stop()
  await db.$client.end()
  return ids
}
