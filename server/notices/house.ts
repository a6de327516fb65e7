import { create } from '@bufbuild/protobuf'
import { SendRequestSchema } from '../../gen/verdict/v1/emails_pb.ts'
import type { DeliveryStatus } from '../../gen/verdict/v1/outcomes_pb.ts'
import type { Database } from '../db/connect.ts'
import { parsePublicId } from '../db/ids.ts'
import { reasonNames, statusNames } from '../db/outcome-names.ts'
import { EVERYBODY } from '../db/schema.ts'
import { ownerOfName } from '../directory/verified-names.ts'
import type { Breaker } from '../reputation/breaker.ts'
import { createIdempotency } from '../sending/idempotency.ts'
import { hashOf, keyScope, NEVER } from '../sending/idempotency-key.ts'
import { readSendRequest } from '../sending/message.ts'
import type { Send, SendParts } from '../sending/send.ts'

// Mails that the service writes itself: notifications, invitations and links that set a new password. They take the
// way of every send, under the account HOUSE.

/**
 * The account of the mails of the house. It has no row in `accounts`, so no key, person, domain or endpoint can belong
 * to it. Every list, stream and statistic is that of an account, so none shows these mails.
 */
export const HOUSE = '00000000-0000-0000-0000-000000000001'

/**
 * The recipe of a send for the mails of the house. The domain may belong to any account, because NOTIFY_FROM is the
 * operator's choice. Warm-up, quota and circuit breaker are left out, because these mails are few. So are suppressions
 * that their own bounces made, because no person could lift these.
 */
export function houseParts(parts: SendParts): SendParts {
  return {
    ...parts,
    senderDomains: { find: (_, name) => findVerified(parts, name) },
    breaker: NO_BREAKER,
    hasQuotas: false,
    suppressed: (query) => parts.suppressed({ ...query, accountId: EVERYBODY }),
    storeContent: false,
  }
}

async function findVerified({ db, senderDomains }: SendParts, name: string) {
  const owner = await ownerOfName(db, name)
  const domain = owner === undefined ? undefined : await senderDomains.find(owner, name)
  return domain && { ...domain, warmsUp: false }
}

const NO_BREAKER: Breaker = {
  admit: async () => undefined,
  peek: async () => ({ state: 'active' }),
  states: async () => new Map(),
  rates: async () => new Map(),
}

export interface HouseMail {
  /** The same key sends once, over all processes. */
  key: string
  to: string
  subject: string
  text: string
}

export interface HouseOutcome {
  status: DeliveryStatus
  isRetryable: boolean
  /** `delivered`, `bounced: mailbox_full`. */
  text: string
  /** UUID. */
  messageId?: string
}

/** Sends a mail of the house. Throws what a send throws; the same mail can then be sent again. */
export type SendHouseMail = (mail: HouseMail) => Promise<HouseOutcome>

interface HouseParts {
  db: Database
  /** The recipe of a send over `houseParts`. */
  send: Send
  /** The address of NOTIFY_FROM. */
  from: string
  /** The longest lease of a send. */
  leaseMs: number
}

export function createSendHouseMail({ db, send, from, leaseMs }: HouseParts): SendHouseMail {
  const idempotency = createIdempotency(db, leaseMs)
  return async ({ key, to, subject, text }) => {
    const request = create(SendRequestSchema, {
      from: `Verdict <${from}>`,
      to: [to],
      subject,
      text,
      // RFC 3834: no vacation message answers it.
      headers: { 'Auto-Submitted': 'auto-generated' },
    })
    const message = readSendRequest(request)
    const taken = { scope: keyScope('houseMail', false), key, requestHash: hashOf(SendRequestSchema, request) }
    const { response } = await idempotency.once({ accountId: HOUSE, ...taken }, () =>
      send(message, { accountId: HOUSE, sandbox: false, key: taken, signal: NEVER }),
    )
    const { status, reason, retryable, messageId } = response
    const why = reason === undefined ? '' : `: ${reasonNames.name(reason)}`
    const outcome = statusNames.name(status) + why
    return { status, isRetryable: retryable === true, text: outcome, messageId: parsePublicId('msg', messageId) }
  }
}
