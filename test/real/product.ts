import { randomBytes } from 'node:crypto'
import { nameCell } from '../../server/directory/cell.ts'
import { recordsOf, zoneLine } from '../../server/domains/records.ts'
import { openAccount } from '../harness/account.ts'
import { type TestDatabase, testDatabase } from '../harness/postgres.ts'
import { type RunningApi, startApiProcess } from '../harness/process.ts'
import { atEnd } from '../harness/until-end.ts'

/** The sender's domain. IANA reserves it (RFC 2606 3), but its top-level domain is not a special-use one. */
export const SENDER_DOMAIN = 'shop.example.com'

export interface Account {
  database: TestDatabase
  /** A live key with every scope. */
  key: string
  /** The records that its domain must publish, as lines of a zone. */
  zone: string
  env: NodeJS.ProcessEnv
}

/**
 * Creates a database with one account, its key and verified domain, and the environment that an API process needs for
 * them. The installation is that cell, if one is named.
 */
export async function createSender(name = SENDER_DOMAIN, cell?: string): Promise<Account> {
  const database = await testDatabase()
  const { db, url } = database
  if (cell) await nameCell(db, cell)
  const ENCRYPTION_KEYS = `k1:${randomBytes(32).toString('base64')}`
  const { key, dkimKeys } = await openAccount(db, ENCRYPTION_KEYS, name)
  const hosts = { sourceAddresses: ['127.0.0.1'], returnPathHost: undefined, bounceHost: `mail.${name}` }
  const zone = recordsOf({ name, dkimKeys }, hosts).map(zoneLine).join('\n')
  return { database, key, zone, env: { DATABASE_URL: url, ENCRYPTION_KEYS } }
}

// biome-ignore lint/suspicious/noExplicitAny: the JSON of a REST response, as a client reads it.
type Json = any

export interface Product {
  api: RunningApi
  /** Sends over REST from `SENDER_DOMAIN`, with a default subject and text. */
  send(message: object, headers?: Record<string, string>): Promise<{ status: number; body: Json }>
  get(path: string): Promise<Json>
}

/** Starts the API as a separate process. It ends with its test or file. */
export async function startProduct(account: Account, more: NodeJS.ProcessEnv): Promise<Product> {
  const product = await productToKill(account, more)
  atEnd(() => product.api.kill('SIGKILL'))
  return product
}

/** An API process that whoever starts it ends. */
export async function productToKill({ key, env }: Account, more: NodeJS.ProcessEnv): Promise<Product> {
  const api = await startApiProcess({ ...env, ...more })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  return {
    api,
    async send(message, more = {}) {
      const body = JSON.stringify({
        from: `orders@${SENDER_DOMAIN}`,
        subject: 'Your order',
        text: 'It is on its way.',
        ...message,
      })
      const response = await fetch(`${api.url}/api/v1/emails/send`, {
        method: 'POST',
        headers: { ...headers, ...more },
        body,
      })
      return { status: response.status, body: await response.json() }
    },
    async get(path) {
      const response = await fetch(`${api.url}${path}`, { headers })
      return response.json()
    },
  }
}
