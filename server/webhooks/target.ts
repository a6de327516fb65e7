import type { Sealer } from '../db/encryption.ts'

/** Where an attempt goes, as the row of the endpoint has it at that moment. */
export interface TargetRow {
  accountId: string
  url: string
  secret: Buffer
  /** null when its time is over, or there is none. */
  previousSecret: Buffer | null
}

export interface Target {
  url: string
  secret: string
  previousSecret?: string
}

/** SQL of the columns of a TargetRow; `w` is the row of webhook_endpoints. */
export const TARGET_COLUMNS = `
  w.account_id as "accountId", w.url, w.secret,
  case when w.previous_until > clock_timestamp() then w.previous_secret end as "previousSecret"`

const KEPT = 1_000

/** Opens the secrets of endpoints, each once: they stay sealed in the database and are used for every attempt. */
export function targets(sealer: Sealer): (row: TargetRow) => Target {
  const opened = new Map<string, string>()

  function open(sealed: Buffer, column: string, accountId: string): string {
    const key = sealed.toString('latin1')
    const known = opened.get(key)
    if (known !== undefined) return known
    const secret = sealer.open(sealed, { table: 'webhook_endpoints', column, id: accountId }).toString()
    if (opened.size === KEPT) opened.clear()
    opened.set(key, secret)
    return secret
  }

  return ({ accountId, url, secret, previousSecret }) => ({
    url,
    secret: open(secret, 'secret', accountId),
    previousSecret: previousSecret ? open(previousSecret, 'previous_secret', accountId) : undefined,
  })
}
