import { randomUUID } from 'node:crypto'
import { newId } from '../../server/db/ids.ts'
import type { Claim } from '../../server/ledger/claim.ts'

/** The claim of a new message to one recipient. */
export function newClaim(accountId: string, createdAtMs: number): Claim {
  return {
    messageId: newId(createdAtMs),
    accountId,
    claimId: randomUUID(),
    leaseMs: 40_000,
    createdAtMs,
    region: 'eu',
    domain: 'example.test',
    request: { subject: 'Your order is on its way' },
    recipients: [{ eventId: newId(createdAtMs), email: 'recipient@to.test', kind: 'to' }],
  }
}
