import type { StoredRequest } from '../db/json-columns.ts'
import type { SendRow } from './rows.ts'

/** The field of the request that a recipient was given in. */
export type RecipientKindName = 'to' | 'cc' | 'bcc'

/** A send as it is claimed. Ids are UUIDs. The lease is counted from the commit, by the database's clock. */
export interface Claim {
  messageId: string
  accountId: string
  /** Names this process's hold on the message: marker, record and release are conditional on it. */
  claimId: string
  leaseMs: number
  createdAtMs: number
  tenantId?: string
  region: string
  /** The sending domain. */
  domain: string
  /** What Get email shows of the request. */
  request: Partial<StoredRequest>
  /** The random part of `eventId` stays; its time becomes that of the outcome. */
  recipients: { eventId: string; email: string; kind: RecipientKindName }[]
  key?: KeyToTake
  warmUp?: WarmUpShare
  /** The trace that the dispatches of its events continue. */
  traceparent?: string
}

/** The idempotency key that a send takes with its claim. */
export interface KeyToTake {
  scope: string
  key: string
  /** SHA-256 of the request, in hex. */
  requestHash: string
}

/** What a send takes of the day's volume of a domain that warms up. */
export interface WarmUpShare {
  /** The UTC day, `2026-01-31`. Its row exists already: see warm-up.ts. */
  day: string
  dailyLimit: number
  emails: number
}

export function sendRow(claim: Claim): SendRow {
  return {
    id: claim.messageId,
    account_id: claim.accountId,
    created_at: new Date(claim.createdAtMs).toISOString(),
    tenant_id: claim.tenantId,
    region: claim.region,
    domain: claim.domain,
    request: claim.request,
    recipients: claim.recipients.map(({ eventId, email, kind }, position) => ({
      position,
      event_id: eventId,
      email,
      kind,
    })),
    key_scope: claim.key?.scope,
    key: claim.key?.key,
    request_hash: claim.key?.requestHash,
  }
}
