import { SmtpEvidenceSchema } from '../../gen/verdict/v1/outcomes_pb.ts'
import { parseMailbox } from '../../mail/address.ts'
import { publicId, timeOfId } from '../db/ids.ts'
import type { recipients } from '../db/schema.ts'
import { readStored } from '../db/stored-json.ts'

/** The `typ` of a receipt's header. It keeps receipts apart from other tokens (RFC 8725 3.11). */
export const RECEIPT_TYPE = 'verdict-receipt+jwt'
/** Signs with Ed25519, the only algorithm of receipts (RFC 8037). */
export const RECEIPT_ALGORITHM = 'EdDSA'

export interface ReceiptClaims {
  iss: string
  sub: string
  /** Unix seconds. */
  iat: number
  from_domain: string
  created_at: string
  digest?: string
  sandbox: boolean
  recipients: RecipientClaims[]
}

export interface RecipientClaims {
  email: string
  kind: string
  status: string
  reason?: string
  in_doubt?: true
  mx?: string
  ip?: string
  code?: number
  enhanced?: string
  reply?: string
  tls?: { version: string; verified: boolean; by?: string }
  at: string
}

/** What a receipt states of a message, from its row in history. */
export interface SentMessage {
  id: string
  /** The domain of From; empty in a row that an earlier version of this service stored during an upgrade. */
  domain: string
  from: string
  sandbox: boolean
  digest: Buffer | null
  /** Unix milliseconds. */
  completedAtMs: number
}
export type SentRecipient = Pick<
  typeof recipients.$inferSelect,
  'email' | 'kind' | 'status' | 'reason' | 'inDoubt' | 'smtp'
>

/** The claims of a receipt. Equal arguments give equal claims, in the same order. */
export function claimsOf(
  message: SentMessage,
  recipients: readonly SentRecipient[],
  { issuer, nowMs }: { issuer: string; nowMs: number },
): ReceiptClaims {
  const at = new Date(message.completedAtMs).toISOString()
  return {
    iss: issuer,
    sub: publicId('msg', message.id),
    iat: Math.floor(nowMs / 1_000),
    from_domain: message.domain || (parseMailbox(message.from)?.domain ?? ''),
    created_at: new Date(timeOfId(message.id)).toISOString(),
    digest: message.digest ? `sha-256:${message.digest.toString('hex')}` : undefined,
    sandbox: message.sandbox,
    recipients: recipients.map((recipient) => ({ ...outcomeOf(recipient), at })),
  }
}

function outcomeOf({ email, kind, status, reason, inDoubt, smtp }: SentRecipient): Omit<RecipientClaims, 'at'> {
  const evidence = readStored(SmtpEvidenceSchema, smtp)
  const tls = evidence?.tls
  return {
    email,
    kind,
    status,
    reason: reason ?? undefined,
    in_doubt: inDoubt || undefined,
    mx: evidence?.mx,
    ip: evidence?.ip,
    code: evidence?.code,
    enhanced: evidence?.enhanced,
    reply: evidence?.reply,
    tls: tls && { version: tls.version, verified: tls.verified, by: tls.by },
  }
}
