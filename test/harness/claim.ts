import { randomUUID } from 'node:crypto'
import { newId } from '../../server/db/ids.ts'
import type { Claim } from '../../server/ledger/claim.ts'

interface Change extends Partial<Omit<Claim, 'recipients'>> {
  to?: string[]
}

/** The claim of a new send, by default by an account without a row. */
export function newClaim({ to = ['ann@example.net'], createdAtMs = Date.now(), ...change }: Change = {}): Claim {
  return {
    messageId: newId(createdAtMs),
    accountId: newId(createdAtMs),
    claimId: randomUUID(),
    leaseMs: 40_000,
    createdAtMs,
    region: 'eu',
    domain: 'example.test',
    request: { subject: 'Hello' },
    recipients: to.map((email) => ({ eventId: newId(createdAtMs), email, kind: 'to' })),
    ...change,
  }
}
