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

  function open(sealed: string, column: string, accountId: string): string {
    const known = opened.get(sealed)
    if (known !== undefined) return known
    const place = { table: 'webhook_endpoints', column, id: accountId }
    const secret = sealer.open(Buffer.from(sealed, 'base64'), place).toString()
    if (opened.size === KEPT) opened.clear()
    opened.set(sealed, secret)
    return secret
  }

  return ({ accountId, url, secret, previousSecret }) => ({
    url,
    secret: open(secret, 'secret', accountId),
    previousSecret: previousSecret ? open(previousSecret, 'previous_secret', accountId) : undefined,
  })
}
