import { create } from '@bufbuild/protobuf'
import { SendRequestSchema, type SendResponse } from '../../gen/verdict/v1/emails_pb.ts'
import { DeliveryStatus, type RecipientOutcome, RecipientOutcomeSchema } from '../../gen/verdict/v1/outcomes_pb.ts'
import type { Address } from '../../mail/address.ts'
import { CALL_TIMES } from '../config/limits.ts'
import type { Database } from '../db/connect.ts'
import { parsePublicId, publicId } from '../db/ids.ts'
import type { SenderDomains } from '../domains/sender.ts'
import { fail, OutcomeUnknown, reasonOf } from '../errors.ts'
import { sweepMessage } from '../ledger/sweep.ts'
import { NEVER } from '../sending/idempotency-key.ts'
import { type Message, readRequest } from '../sending/message.ts'
import { MAX_RECIPIENTS } from '../sending/recipients.ts'
import { explain } from '../sending/rejection.ts'
import type { Send } from '../sending/send.ts'
import { createPauses } from '../sending/sharing.ts'
import { storedOutcomes } from '../sending/stored-response.ts'
import { replyToError } from './errors.ts'
import { createHeldKeys, type GivenKey, type KeyHolder, recipientKey } from './held-keys.ts'
import { digestAside } from './same-message.ts'

/** A message whose final dot has arrived. */
export interface SubmittedMail {
  accountId: string
  /** A test key: everything is checked, nothing is sent. */
  sandbox: boolean
  sender: Address
  recipients: Address[]
  content: Buffer
  /** Each recipient has a reply of its own, so that no reply asks for a recipient again that has the message. */
  isLmtp: boolean
  /** The program has given SMTPUTF8. */
  isUtf8: boolean
}

/** What became of a recipient, now or when the message came before. */
export interface RecipientAnswer {
  email: string
  /** The public id of the message that has the outcome. */
  messageId: string
  outcome: RecipientOutcome
  sandbox: boolean
  /** The same content came before, in another message. */
  isRepeated?: boolean
}

/** A recipient whose send was refused, while other recipients of the message may have their answers. */
export interface RefusedRecipient {
  email: string
  error: unknown
}

export type RecipientResult = RecipientAnswer | RefusedRecipient

interface SubmitParts {
  db: Database
  send: Send
  senderDomains: SenderDomains
  /** The longest lease of a send. */
  leaseMs: number
}

interface KeyedRecipient {
  address: Address
  /** Absent without a Message-ID. */
  key?: string
  /** The key of the content alone. It is given after a 451 that covers a recipient that may have the message. */
  contentKey: string
  holder?: KeyHolder
  /** `contentKey` alone has led to the holder. */
  isRepeated?: boolean
  result?: RecipientResult
}

const KEY_HOURS = 24
/** Programs that make a new Message-ID when they send again do so soon. */
const CONTENT_KEY_HOURS = 1

/**
 * Sends a message to the recipients that have no answer yet, and returns the results of all, in their order. A repeat
 * gets the first answer; a recipient whose outcome was `retryable` is tried again. More recipients than a message may
 * have become several messages. Throws the errors that concern all of them.
 */
export function createSubmit({ db, send, senderDomains, leaseMs }: SubmitParts) {
  const keys = createHeldKeys(db)

  return async (mail: SubmittedMail): Promise<RecipientResult[]> => {
    await checkSender(mail)
    const distinct = [...new Map(mail.recipients.map((recipient) => [recipient.address, recipient])).values()]
    const request = { to: distinct.slice(0, MAX_RECIPIENTS).map(({ address }) => address), raw: mail.content }
    const { accountId, sandbox, isUtf8: mayBeUtf8 } = mail
    const message = await readRequest(create(SendRequestSchema, request), { accountId, senderDomains, mayBeUtf8 })
    const { messageId } = message.raw!
    const digest = await digestAside(message.raw!, accountId)
    const recipients = distinct.map((address): KeyedRecipient => {
      const keyOf = (id?: string) => recipientKey({ sandbox, messageId: id, digest }, address.address)
      return { address, key: messageId === undefined ? undefined : keyOf(messageId), contentKey: keyOf() }
    })
    const untilMs = performance.now() + leaseMs + CALL_TIMES.repeatMs
    for (const pause = createPauses(untilMs); ; ) {
      await answerAll(recipients, message, mail)
      if (recipients.every(({ result }) => result)) break
      await pause()
    }
    await giveKeys(mail, recipients)
    return recipients.map(({ result }) => result!)
  }

  /** Without these keys the repeat that a 451 asks for would reach some recipients twice: no reply is better. */
  async function giveKeys({ accountId, isLmtp }: SubmittedMail, recipients: readonly KeyedRecipient[]): Promise<void> {
    const isAskedAgain = !isLmtp && recipients.some(({ result }) => mayBeTriedAgain(result!))
    const hasContentKeys = isAskedAgain && recipients.some(({ result }) => mayHaveArrived(result!))
    const given = recipients.flatMap(({ key, contentKey, holder, isRepeated }): GivenKey[] => {
      if (!holder) return []
      return [
        ...(key !== undefined && isRepeated ? [{ key, holder, hours: KEY_HOURS }] : []),
        ...(hasContentKeys ? [{ key: contentKey, holder, hours: CONTENT_KEY_HOURS }] : []),
      ]
    })
    await keys.give(accountId, given).catch((cause) => {
      throw new OutcomeUnknown({ cause })
    })
  }

  async function checkSender({ accountId, sender }: SubmittedMail): Promise<void> {
    const domain = await senderDomains.find(accountId, sender.domain)
    if (domain?.status === 'verified') return
    throw fail(
      'domain_not_verified',
      `MAIL FROM names ${sender.domain}, which is no verified domain of this account. Use an address of one that is.`,
    )
  }

  /** Gives results to the recipients that have none. Those that another request is sending to stay without. */
  async function answerAll(recipients: KeyedRecipient[], message: Message, mail: SubmittedMail): Promise<void> {
    const open = recipients.filter(({ result }) => !result)
    const found = await findHolders(open, mail.accountId)
    for (const [i, recipient] of open.entries()) Object.assign(recipient, found[i])
    await readStored(open)
    const groups = Map.groupBy(
      open.filter((one) => isDue(one, mail, message.from.domain)),
      ({ holder }) => holder?.messageId,
    )
    const sends = [...groups].flatMap(([retryOf, group]) =>
      chunksOf(group, MAX_RECIPIENTS).map((chunk) => sendToGroup(chunk, message, { ...mail, retryOf })),
    )
    const failed = (await Promise.allSettled(sends)).find((end) => end.status === 'rejected')
    if (failed) throw failed.reason
  }

  async function findHolders(recipients: readonly KeyedRecipient[], accountId: string) {
    const find = (key: string) => keys.find(accountId, [key]).then(([holder]) => holder)
    return Promise.all(
      recipients.map(async ({ key, contentKey }) => {
        const [own, ofContent] = await Promise.all([key === undefined ? undefined : find(key), find(contentKey)])
        return { holder: own ?? ofContent, isRepeated: !own && ofContent !== undefined }
      }),
    )
  }

  async function readStored(recipients: KeyedRecipient[]): Promise<void> {
    const held = Map.groupBy(
      recipients.filter(({ holder }) => holder),
      ({ holder }) => holder!.messageId,
    )
    for (const [messageId, ofMessage] of held) {
      const { leaseLeftMs } = ofMessage[0]!.holder!
      if (leaseLeftMs !== null && leaseLeftMs <= 0) await sweepMessage(db, messageId)
      const outcomes = leaseLeftMs === null ? await storedOutcomes(db, messageId) : []
      for (const recipient of ofMessage) {
        const outcome = outcomes[recipient.holder!.position]
        if (outcome)
          recipient.result = {
            email: recipient.address.address,
            messageId: publicId('msg', messageId),
            outcome,
            sandbox: false,
            isRepeated: recipient.isRepeated,
          }
      }
    }
  }

  /** Takes the stored answer of a recipient away when it is to be tried again. */
  function isDue(recipient: KeyedRecipient, { sandbox }: SubmittedMail, fromDomain: string): boolean {
    const { holder, result } = recipient
    if (!holder) return true
    if (!result || 'error' in result) return false
    result.sandbox = sandbox
    explain(result.outcome, fromDomain)
    if (sandbox || !result.outcome.retryable) return false
    recipient.result = undefined
    return true
  }

  async function sendToGroup(
    group: KeyedRecipient[],
    message: Message,
    mail: SubmittedMail & { retryOf: string | undefined },
  ): Promise<void> {
    const { accountId, retryOf } = mail
    const recipientKeys = group.flatMap(({ key }) => key ?? [])
    if (retryOf) await keys.renew(accountId, recipientKeys)
    const results = await sendTo(
      message,
      group.map(({ address }) => address),
      retryOf || recipientKeys.length === 0 ? mail : { ...mail, recipientKeys },
    ).catch(async (error): Promise<RecipientResult[]> => {
      if (error instanceof OutcomeUnknown) throw error
      if (await isAnotherOne(error, group, accountId)) return []
      return group.map(({ address }) => ({ email: address.address, error }))
    })
    for (const [position, recipient] of group.entries()) {
      const result = results[position]
      recipient.result = result
      if (!result || 'error' in result) continue
      recipient.holder = { messageId: parsePublicId('msg', result.messageId)!, position, leaseLeftMs: null }
    }
  }

  /** A limit may have been used up, and a recipient may have been retried, by a repeat of the same message. */
  async function isAnotherOne(error: unknown, group: KeyedRecipient[], accountId: string): Promise<boolean> {
    const reason = reasonOf(error)
    if (reason !== 'rate_limit_exceeded' && reason !== 'invalid_payload') return false
    const found = await findHolders(group, accountId)
    return group.some(({ holder }, i) => holder?.messageId !== found[i]!.holder?.messageId)
  }

  /** Empty when another request has just taken a key. */
  async function sendTo(
    message: Message,
    addresses: Address[],
    { accountId, sandbox, ...more }: SubmittedMail & { retryOf?: string; recipientKeys?: string[] },
  ): Promise<RecipientAnswer[]> {
    const part = {
      ...message,
      to: addresses,
      recipients: addresses.map((address) => ({ address, kind: 'to' as const })),
      retryOf: more.retryOf,
    }
    const response = await send(part, { accountId, sandbox, recipientKeys: more.recipientKeys, signal: NEVER })
    return response ? resultsOf(response, addresses, sandbox) : []
  }
}

function chunksOf<T>(list: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, i) => list.slice(i * size, (i + 1) * size))
}

const mayBeTriedAgain = (result: RecipientResult) =>
  'error' in result ? replyToError(result.error).code < 500 : !result.sandbox && result.outcome.retryable

const mayHaveArrived = (result: RecipientResult) =>
  !('error' in result) &&
  !result.sandbox &&
  (result.outcome.status === DeliveryStatus.DELIVERED || result.outcome.inDoubt === true)

function resultsOf(response: SendResponse, addresses: Address[], sandbox: boolean): RecipientAnswer[] {
  const { messageId, recipients } = response
  if (recipients.length > 0) {
    return recipients.map((outcome) => ({ email: outcome.email, messageId, outcome, sandbox }))
  }
  const { status, reason, retryable, inDoubt, smtp, suppression, detail } = response
  const only = create(RecipientOutcomeSchema, { status, reason, retryable, inDoubt, smtp, suppression, detail })
  return [{ email: addresses[0]!.address, messageId, outcome: only, sandbox }]
}
