import type { Sealer } from '../db/encryption.ts'
import type { TargetRow } from '../events/dispatches.ts'

export interface Target {
  url: string
  secret: string
  previousSecret?: string
}

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
