import { randomBytes } from 'node:crypto'
import { openAccount } from '../harness/account.ts'
import { testDatabase } from '../harness/postgres.ts'
import { startApiProcess } from '../harness/process.ts'
import { atEnd } from '../harness/until-end.ts'

export type Instance = Awaited<ReturnType<typeof startInstance>>

/**
 * Starts the API as a separate process with its own database, one account, its verified domain `example.test` and a
 * live key.
 */
export async function startInstance(env: NodeJS.ProcessEnv = {}) {
  const database = await testDatabase()
  const ENCRYPTION_KEYS = `k1:${randomBytes(32).toString('base64')}`
  const account = await openAccount(database.db, ENCRYPTION_KEYS, 'example.test')
  const { key, keyId } = account
  const environment = {
    DATABASE_URL: database.url,
    ENCRYPTION_KEYS,
    LOG_LEVEL: 'trace',
    ...env,
  }
  const api = await startApiProcess(environment)
  atEnd(() => api.kill('SIGKILL'))

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

  return { api, database, environment, account, key, keyId, post, put, send, get }
}
