import { create } from '@bufbuild/protobuf'
import { SendRequestSchema } from '../../gen/verdict/v1/emails_pb.ts'
import type { Address } from '../../mail/address.ts'
import { readRawHeader } from '../../mail/mime/raw/read-raw.ts'
import { CALL_TIMES } from '../config/limits.ts'
import type { Database } from '../db/connect.ts'
import { parsePublicId } from '../db/ids.ts'
import type { SenderDomains } from '../domains/sender.ts'
import { fail, OutcomeUnknown, reasonOf } from '../errors.ts'
import { NEVER } from '../sending/idempotency-key.ts'
import { type Message, readRequest } from '../sending/message.ts'
import { MAX_RECIPIENTS } from '../sending/recipients.ts'
import { WHOLE_MESSAGE } from '../sending/refused-sends.ts'
import type { Send, SendOptions } from '../sending/send.ts'
import { createPauses } from '../sending/sharing.ts'
import { createKnownRecipients, type KnownRecipient, keysToTake } from './known-recipients.ts'
import { NO_FIELDS, type ProgramFields, readProgramFields } from './program-fields.ts'
import { receivedField, type Way } from './received.ts'
import { type RecipientAnswer, type RecipientResult, resultsOf } from './results.ts'
import { digestAside, keysOfRecipient } from './same-message.ts'
import { createUnclaimed } from './unclaimed.ts'

/** A message whose final dot has arrived. */
export interface SubmittedMail extends Way {
  accountId: string
  /** A test key: everything is checked, nothing is sent. */
  sandbox: boolean
  sender: Address
  recipients: Address[]
  content: Buffer
  /**
   * Each recipient has a reply of its own, so that no reply asks for a recipient again that has the message. A mail
   * server passes on what others wrote: the fields for the service are not read.
   */
  isLmtp: boolean
  /** The program has given SMTPUTF8. */
  isUtf8: boolean
  /** Aborts when the client closes the connection, or its sending side, before its reply. */
  left: AbortSignal
  /** Resolves when a client that has closed its sending side has read the reply all the same. */
  hasRead: Promise<void>
}

interface Mail extends SubmittedMail {
  /** Called when some of its recipients have a `running` message. */
  onClaim(): void
}

/** What goes into one send. */
interface MailPart extends SubmittedMail, Pick<SendOptions, 'onClaim' | 'recipientKeys'> {
  retryOf: string | undefined
}

interface SubmitParts {
  db: Database
  send: Send
  senderDomains: SenderDomains
  /** The longest lease of a send. */
  leaseMs: number
}

/**
 * Sends a message to the recipients that have no answer yet, and returns the results of all, in their order. A repeat
 * gets the first answer; a recipient whose outcome was `retryable` is tried again. More recipients than a message may
 * have become several messages. Throws the errors that concern all of them.
 */
export function createSubmit({ db, send, senderDomains, leaseMs }: SubmitParts) {
  const known = createKnownRecipients(db)
  const unclaimed = createUnclaimed()

  return async (submitted: SubmittedMail): Promise<RecipientResult[]> => {
    await checkSender(submitted)
    const fields = fieldsOf(submitted)
    const mail = { ...submitted, sandbox: submitted.sandbox || fields.sandbox }
    const { accountId, sandbox, isLmtp, left } = mail
    const distinct = [...new Map(mail.recipients.map((recipient) => [recipient.address, recipient])).values()]
    const message = await readMail(mail, distinct, fields)
    const { messageId } = message.raw!
    const { idempotencyKey, tenantId } = fields
    const digest = await digestAside(message.raw!, accountId)
    const same = { sandbox, idempotencyKey, tenantId, messageId, digest, keepsMessageId: isLmtp }
    const recipients = distinct.map((address): KnownRecipient => {
      return { address, keys: keysOfRecipient(same, address.address) }
    })
    const contentKeys = recipients.flatMap(({ keys: { ofContent } }) =>
      ofContent ? [`${accountId} ${ofContent}`] : [],
    )
    await unclaimed.untilClaimed(contentKeys)
    const given: Promise<void>[] = []
    let noteClaimed = () => {}
    const onClaim = () => {
      if (!left.aborted) return
      given.push(known.giveToRunning(accountId, recipients))
      if (recipients.every(({ running, result }) => running || result)) void Promise.all(given).then(noteClaimed)
    }
    const onLeave = () => {
      noteClaimed = unclaimed.add(contentKeys)
      onClaim()
    }
    if (left.aborted) onLeave()
    left.addEventListener('abort', onLeave)
    try {
      const untilMs = performance.now() + leaseMs + CALL_TIMES.repeatMs
      for (const pause = createPauses(untilMs); ; ) {
        await answerAll(recipients, message, { ...mail, onClaim })
        if (recipients.every(({ result }) => result)) break
        await pause()
      }
      await Promise.all(given)
      await known.giveKeys(accountId, recipients, { hasLeft: left.aborted })
    } catch (error) {
      // The connection is closed without a reply, which is a reason to send again.
      if (error instanceof OutcomeUnknown) await known.giveToRunning(accountId, recipients)
      throw error
    } finally {
      left.removeEventListener('abort', onLeave)
      noteClaimed()
    }
    if (left.aborted) void mail.hasRead.then(() => known.noteRead(accountId, recipients))
    return recipients.map(({ result }) => result!)
  }

  async function checkSender({ accountId, sender }: SubmittedMail): Promise<void> {
    const domain = await senderDomains.find(accountId, sender.domain)
    if (domain?.status === 'verified') return
    throw fail(
      'domain_not_verified',
      `MAIL FROM names ${sender.domain}, which is no verified domain of this account. Use an address of one that is.`,
    )
  }

  /** The message to the first of its recipients. */
  async function readMail(
    mail: SubmittedMail,
    recipients: readonly Address[],
    { tag, tenantId, metadata }: ProgramFields,
  ): Promise<Message> {
    const { accountId, content, isUtf8 } = mail
    const to = recipients.slice(0, MAX_RECIPIENTS).map(({ address }) => address)
    const request = create(SendRequestSchema, { to, raw: content, tag, tenantId, metadata })
    const door = { accountId, senderDomains, mayBeUtf8: isUtf8, rawName: WHOLE_MESSAGE }
    const message = await readRequest(request, door)
    const header = Buffer.concat([receivedField(mail, recipients, new Date()), message.raw!.header])
    return { ...message, raw: { ...message.raw!, header } }
  }

  /** Gives results to the recipients that have none. Recipients to which another request is sending get none. */
  async function answerAll(recipients: KnownRecipient[], message: Message, mail: Mail): Promise<void> {
    const { accountId, sandbox } = mail
    const open = recipients.filter(({ result }) => !result)
    const due = await known.findDue(open, { accountId, sandbox, fromDomain: message.from.domain })
    const groups = Map.groupBy(due, ({ holder }) => holder?.messageId)
    const sends = [...groups].flatMap(([retryOf, group]) =>
      chunksOf(group, MAX_RECIPIENTS).map((chunk) => sendToGroup(chunk, message, { ...mail, retryOf })),
    )
    const failed = (await Promise.allSettled(sends)).find((end) => end.status === 'rejected')
    if (failed) throw failed.reason
  }

  async function sendToGroup(
    group: KnownRecipient[],
    message: Message,
    mail: Mail & { retryOf: string | undefined },
  ): Promise<void> {
    const { accountId, retryOf } = mail
    const keys = group.map(keysToTake)
    if (retryOf) await known.renew(accountId, group)
    const onClaim = (messageId: string) => {
      for (const [position, recipient] of group.entries()) recipient.running = { messageId, position }
      mail.onClaim()
    }
    const results = await sendTo(
      message,
      group.map(({ address }) => address),
      { ...mail, onClaim, recipientKeys: retryOf || keys.flat().length === 0 ? undefined : keys },
    ).catch(async (error): Promise<RecipientResult[]> => {
      if (error instanceof OutcomeUnknown) throw error
      if (mayBeRepeated(error) && (await known.haveMoved(accountId, group))) return []
      return group.map(({ address }) => ({ email: address.address, error }))
    })
    for (const [position, recipient] of group.entries()) {
      const result = results[position]
      recipient.result = result
      if (!result || 'error' in result) continue
      recipient.holder = { messageId: parsePublicId('msg', result.messageId)!, position, leaseLeftMs: null }
    }
  }

  /** Empty when another request has just taken a key. */
  async function sendTo(
    message: Message,
    addresses: Address[],
    { accountId, sandbox, retryOf, ...more }: MailPart,
  ): Promise<RecipientAnswer[]> {
    const part = {
      ...message,
      to: addresses,
      recipients: addresses.map((address) => ({ address, kind: 'to' as const })),
      retryOf,
    }
    const { onClaim, recipientKeys } = more
    const response = await send(part, { accountId, sandbox, recipientKeys, onClaim, signal: NEVER })
    return response ? resultsOf(response, addresses, sandbox) : []
  }
}

/** A header with a fault has no fields: the message is refused for it. */
export function fieldsOf({
  content,
  isUtf8,
  isLmtp,
}: Pick<SubmittedMail, 'content' | 'isUtf8' | 'isLmtp'>): ProgramFields {
  const header = isLmtp ? undefined : readRawHeader(content, { mayBeUtf8: isUtf8 })
  return !header || 'fault' in header ? NO_FIELDS : readProgramFields(header.fields)
}

function chunksOf<T>(list: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, i) => list.slice(i * size, (i + 1) * size))
}

/** A limit may have been used up, and a recipient may have been retried, by a repeat of the same message. */
function mayBeRepeated(error: unknown): boolean {
  const reason = reasonOf(error)
  return reason === 'rate_limit_exceeded' || reason === 'invalid_payload'
}
