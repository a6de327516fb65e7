import { memoize } from '../../net/memoize.ts'
import type { Sealer } from '../db/encryption.ts'

/** The account's current endpoint, as an attempt reads it. */
export interface TargetRow {
  accountId: string
  url: string
  /** Sealed, in base64. */
  secret: string
  /** Sealed, in base64; null when no previous secret is valid. */
  previousSecret: string | null
}

/** SQL of the columns of a `TargetRow`; `w` is the row of `webhook_endpoints`. */
export const TARGET_COLUMNS = `
  w.account_id as "accountId", w.url, encode(w.secret, 'base64') as secret,
  case when w.previous_until > clock_timestamp() then encode(w.previous_secret, 'base64') end as "previousSecret"`

export interface Target {
  url: string
  secret: string
  previousSecret?: string
}

/** Decrypts the secrets of endpoints, each once: they stay sealed in the database, and every attempt needs them. */
export function createOpenTarget(sealer: Sealer): (row: TargetRow) => Target {
  const open = memoize((sealed, column: string, accountId: string) => {
    const place = { table: 'webhook_endpoints', column, id: accountId }
    return sealer.open(Buffer.from(sealed, 'base64'), place).toString()
  })
  return ({ accountId, url, secret, previousSecret }) => ({
    url,
    secret: open(secret, 'secret', accountId),
    previousSecret: previousSecret ? open(previousSecret, 'previous_secret', accountId) : undefined,
  })
}
