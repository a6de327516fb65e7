import type { Sealer } from '../db/encryption.ts'
import type { TargetRow } from '../events/dispatches.ts'
import { remember } from '../remember.ts'

export interface Target {
  url: string
  secret: string
  previousSecret?: string
}

/** Opens the secrets of endpoints, each once: they stay sealed in the database and are used for every attempt. */
export function targets(sealer: Sealer): (row: TargetRow) => Target {
  const open = remember((sealed, column: string, accountId: string) => {
    const place = { table: 'webhook_endpoints', column, id: accountId }
    return sealer.open(Buffer.from(sealed, 'base64'), place).toString()
  })
  return ({ accountId, url, secret, previousSecret }) => ({
    url,
    secret: open(secret, 'secret', accountId),
    previousSecret: previousSecret ? open(previousSecret, 'previous_secret', accountId) : undefined,
  })
}
