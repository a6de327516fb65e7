import { memoize } from '../../../net/memoize.ts'
import type { Sealer } from '../../db/encryption.ts'

/** An endpoint as it is now, as an attempt reads it. */
export interface TargetRow {
  accountId: string
  endpointId: string
  url: string
  /** Counts the changes of the URL. */
  urlVersion: number
  /** Sealed, in base64. */
  secret: string
  /** Sealed, in base64; null when no previous secret is valid. */
  previousSecret: string | null
}

/** SQL of the columns of a `TargetRow`; `w` is the row of `webhook_endpoints`. */
export const TARGET_COLUMNS = `
  w.account_id as "accountId", w.id as "endpointId", w.url, w.url_version as "urlVersion", encode(w.secret, 'base64') as secret,
  case when w.previous_until > clock_timestamp() then encode(w.previous_secret, 'base64') end as "previousSecret"`

export interface Target {
  url: string
  secret: string
  previousSecret?: string
}

/** Decrypts the secrets of endpoints, each once: they stay sealed in the database, and every attempt needs them. */
export function createOpenTarget(sealer: Sealer): (row: TargetRow) => Target {
  const open = memoize((sealed, column: string, endpointId: string) => {
    const place = { table: 'webhook_endpoints', column, id: endpointId }
    return sealer.open(Buffer.from(sealed, 'base64'), place).toString()
  })
  return ({ endpointId, url, secret, previousSecret }) => ({
    url,
    secret: open(secret, 'secret', endpointId),
    previousSecret: previousSecret ? open(previousSecret, 'previous_secret', endpointId) : undefined,
  })
}
