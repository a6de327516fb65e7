import { randomBytes } from 'node:crypto'
import { createAccount } from '../../server/access/accounts.ts'
import { createKey } from '../../server/access/keys.ts'
import { SCOPES } from '../../server/access/scopes.ts'
import { databaseClock } from '../../server/db/clock.ts'
import { createSealer } from '../../server/db/encryption.ts'
import { createDomain } from '../../server/domains/domains.ts'
import { testDatabase } from '../harness/postgres.ts'
import { startApiProcess } from '../harness/process.ts'

export type Instance = Awaited<ReturnType<typeof startInstance>>

/** The API as a process of its own on a database of its own, with one account, its verified domain `example.test` and a live key. */
export async function startInstance(env: NodeJS.ProcessEnv = {}) {
  const database = await testDatabase()
  const encryptionKey = randomBytes(32)
  const clock = await databaseClock(database.db)
  const sealer = createSealer([{ id: 'k1', key: encryptionKey }])
  const account = await createAccount(database.db, clock, 'Test')
  await createDomain(
    { db: database.db, sealer, clock },
    { accountId: account.id, name: 'example.test', status: 'verified' },
  )
  const newKey = { accountId: account.id, name: 'test', kind: 'live', scopes: SCOPES } as const
  const { key, apiKey } = await createKey(database.db, clock, newKey)
  clock.stop()
  const environment = {
    DATABASE_URL: database.url,
    ENCRYPTION_KEYS: `k1:${encryptionKey.toString('base64')}`,
    LOG_LEVEL: 'trace',
    ...env,
  }
  const api = await startApiProcess(environment)

  const call =
    (method: string) =>
    (path: string, body: string, headers: Record<string, string> = {}, signal?: AbortSignal) =>
      fetch(api.url + path, {
        method,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
        body,
        signal,
      })
  const post = call('POST')
  const put = call('PUT')
  const send = (change: object = {}, headers?: Record<string, string>, signal?: AbortSignal) => {
    const email = {
      to: 'delivered@simulator.test',
      from: 'hello@example.test',
      subject: 'Hello',
      text: 'Hi',
      ...change,
    }
    return post('/api/v1/emails/send', JSON.stringify(email), headers, signal)
  }
  const get = (path: string) => fetch(api.url + path, { headers: { authorization: `Bearer ${key}` } })

  async function stop(): Promise<void> {
    await api.kill('SIGKILL')
    await database.drop()
  }
  return { api, database, environment, account, key, keyId: apiKey.id, post, put, send, get, stop }
}
