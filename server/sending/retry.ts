import { domainOf } from '../../mail/address.ts'
import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import { publicId, timeOfId } from '../db/ids.ts'
import { stepInTime } from '../db/outage.ts'
import { run, UNPREPARED } from '../db/statement.ts'
import { type FieldFault, failFields } from '../errors.ts'
import type { RetriedRecipient, Retry } from '../ledger/retries.ts'
import type { Message } from './message.ts'

// `retry_of` sends a message again to recipients whose outcome was `retryable`. All messages of a chain of retries have
// the envelope senders of its first message: a mail server that makes unknown senders wait (greylisting) remembers the
// envelope sender, and would make a new one wait anew.

/** A chain ends this long after its first message. */
const CHAIN_DAYS = 7

/** History is partitioned by day, and only a plan for this id leaves out the other days. */
export const FIND_RETRIED = `
  select domain, tenant_id as "tenantId", sandbox,
    (select first_id from retries where message_id = $1 limit 1) as "firstId", (
      select json_agg(json_build_object('email', r.email, 'position', r.position, 'status', r.status, 'reason', r.reason,
        'retryable', r.retryable, 'inDoubt', r.in_doubt, 'senderPosition', own.sender_position,
        'retriedBy', later.message_id) order by r.position)
      from recipients r
      left join retries own on own.message_id = r.message_id and own.position = r.position
      left join retries later on later.retried_id = r.message_id and later.retried_position = r.position
      where r.message_id = $1
    ) as recipients
  from messages where id = $1 and account_id = $2`

interface RetriedMessage {
  domain: string
  tenantId: string | null
  sandbox: boolean
  /** The first message of the chain; null when it is this one. */
  firstId: string | null
  recipients: StoredRecipient[]
}

interface StoredRecipient {
  email: string
  position: number
  status: string
  reason: string | null
  retryable: boolean
  inDoubt: boolean
  /** null in the first message of a chain, whose envelope senders are its own. */
  senderPosition: number | null
  /** The message that has retried the recipient, or does at this moment. */
  retriedBy: string | null
}

export type FindRetry = (
  retriedId: string,
  message: Message,
  send: { accountId: string; sandbox: boolean },
) => Promise<Retry>

/**
 * Finds what a message retries. Throws `invalid_payload` with all faults when it may not retry that: a message of
 * another account is refused like one that does not exist.
 */
export function createRetryLookup(db: Database, clock: DatabaseClock): FindRetry {
  return async (retriedId, message, { accountId, sandbox }) => {
    const finding = run<RetriedMessage>(db, FIND_RETRIED, [retriedId, accountId], UNPREPARED)
    const [retried] = await stepInTime(db, finding)
    if (!retried) throw failFields('invalid_payload', [{ field: 'retry_of', message: UNKNOWN }])
    const firstId = retried.firstId ?? retriedId
    const isOver = clock.now() > timeOfId(firstId) + CHAIN_DAYS * 86_400_000
    const faults = [
      ...messageFaults(message, retried, { id: publicId('msg', retriedId), sandbox, isOver }),
      ...recipientFaults(message, retried, publicId('msg', retriedId)),
    ]
    if (faults.length > 0) throw failFields('invalid_payload', faults)
    const recipients = message.recipients.map(({ address }) => retriedRecipient(address.address, retried.recipients))
    return { retriedId, firstId, recipients }
  }
}

const UNKNOWN = 'names no message of this account whose send has ended'

function messageFaults(
  { from, tenantId }: Message,
  retried: RetriedMessage,
  { id, sandbox, isOver }: { id: string; sandbox: boolean; isOver: boolean },
): FieldFault[] {
  const faults: FieldFault[] = []
  if (retried.sandbox !== sandbox) {
    const message = sandbox
      ? 'names a live message; a dry run can only retry a dry run'
      : 'names a dry run, which sent nothing: send a new message without retry_of'
    faults.push({ field: 'retry_of', message })
  }
  if (isOver) {
    const message = `names a message whose first attempt was over ${CHAIN_DAYS} days ago: send a new message without retry_of`
    faults.push({ field: 'retry_of', message })
  }
  if (retried.domain !== from.domain) {
    faults.push({ field: 'from', message: `must keep the domain of ${id}, ${retried.domain}, to retry it` })
  }
  if ((retried.tenantId ?? undefined) !== tenantId) {
    const message = retried.tenantId === null ? 'must be absent' : `must be ${JSON.stringify(retried.tenantId)}`
    faults.push({ field: 'tenant_id', message: `${message}, as in ${id}, to retry it` })
  }
  return faults
}

function recipientFaults({ recipients }: Message, retried: RetriedMessage, id: string): FieldFault[] {
  return recipients.flatMap(({ address: { address }, kind }) => {
    const fault = recipientFault(findRecipient(address, retried.recipients), id)
    return fault === undefined ? [] : { field: kind, message: `holds ${address}, ${fault}` }
  })
}

function recipientFault(recipient: StoredRecipient | undefined, id: string): string | undefined {
  if (!recipient) return `which is no recipient of ${id}`
  const { status, reason, retryable, inDoubt, retriedBy } = recipient
  if (inDoubt) return `which may have ${id}: it ended in doubt, and is never retried`
  if (!retryable) return `whose outcome in ${id} is not retryable: ${[status, reason].filter(Boolean).join('/')}`
  if (retriedBy === null) return undefined
  return `which ${publicId('msg', retriedBy)} has retried: retry that one, if it is retryable`
}

function retriedRecipient(address: string, recipients: StoredRecipient[]): RetriedRecipient {
  const { position, senderPosition } = findRecipient(address, recipients)!
  const firstOfDomain = recipients.find(({ email }) => domainOf(email) === domainOf(address))!
  return { position, senderPosition: senderPosition ?? firstOfDomain.position }
}

const findRecipient = (address: string, recipients: StoredRecipient[]) =>
  recipients.find(({ email }) => email === address)
