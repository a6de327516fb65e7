import { hash } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import { SendRequestSchema, type SendResponse } from '../../gen/verdict/v1/emails_pb.ts'
import { type RecipientOutcome, RecipientOutcomeSchema } from '../../gen/verdict/v1/outcomes_pb.ts'
import type { Address } from '../../mail/address.ts'
import { CALL_TIMES } from '../config/limits.ts'
import type { Database } from '../db/connect.ts'
import { publicId } from '../db/ids.ts'
import type { SenderDomains } from '../domains/sender.ts'
import { fail, reasonOf } from '../errors.ts'
import { sweepMessage } from '../ledger/sweep.ts'
import { NEVER } from '../sending/idempotency-key.ts'
import { type Message, readRequest } from '../sending/message.ts'
import { explain } from '../sending/rejection.ts'
import type { Send } from '../sending/send.ts'
import { createPauses } from '../sending/sharing.ts'
import { storedOutcomes } from '../sending/stored-response.ts'
import { createHeldKeys, type KeyHolder, recipientKey } from './held-keys.ts'

/** A message whose final dot has arrived. */
export interface SubmittedMail {
  accountId: string
  /** A test key: everything is checked, nothing is sent. */
  sandbox: boolean
  sender: Address
  recipients: Address[]
  content: Buffer
  /** The program has given SMTPUTF8. */
  isUtf8: boolean
}

/** What became of a recipient, now or when the message came before. */
export interface RecipientResult {
  email: string
  /** The public id of the message that has the outcome. */
  messageId: string
  outcome: RecipientOutcome
  sandbox: boolean
}

interface SubmitParts {
  db: Database
  send: Send
  senderDomains: SenderDomains
  /** The longest lease of a send. */
  leaseMs: number
}

interface KeyedRecipient {
  address: Address
  key: string
  holder?: KeyHolder
  result?: RecipientResult
}

/**
 * Sends a message to the recipients that have no answer yet, and returns the results of all, in their order. A repeat
 * gets the first answer; a recipient whose outcome was `retryable` is tried again. Throws the errors of a send.
 */
export function createSubmit({ db, send, senderDomains, leaseMs }: SubmitParts) {
  const keys = createHeldKeys(db)

  return async (mail: SubmittedMail): Promise<RecipientResult[]> => {
    await checkSender(mail)
    const request = { to: mail.recipients.map(({ address }) => address), raw: mail.content }
    const { accountId, isUtf8: mayBeUtf8 } = mail
    const message = await readRequest(create(SendRequestSchema, request), { accountId, senderDomains, mayBeUtf8 })
    const messageId = message.raw!.messageId
    if (messageId === undefined)
      return sendTo(
        message,
        message.recipients.map(({ address }) => address),
        mail,
      )
    const digest = hash('sha256', mail.content, 'hex')
    const recipients = message.recipients.map(({ address }): KeyedRecipient => {
      return { address, key: recipientKey({ sandbox: mail.sandbox, messageId, digest }, address.address) }
    })
    const untilMs = performance.now() + leaseMs + CALL_TIMES.repeatMs
    for (const pause = createPauses(untilMs); ; ) {
      await answerAll(recipients, message, mail)
      if (recipients.every(({ result }) => result)) return recipients.map(({ result }) => result!)
      await pause()
    }
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
    const holders = await keys.find(
      mail.accountId,
      open.map(({ key }) => key),
    )
    open.forEach((recipient, i) => {
      recipient.holder = holders[i]
    })
    await readStored(open)
    const groups = Map.groupBy(
      open.filter((one) => isDue(one, mail, message.from.domain)),
      ({ holder }) => holder?.messageId,
    )
    const sends = [...groups].map(([retryOf, group]) => sendToGroup(group, message, { ...mail, retryOf }))
    const failed = (await Promise.allSettled(sends)).find((end) => end.status === 'rejected')
    if (failed) throw failed.reason
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
          }
      }
    }
  }

  /** Takes the stored answer of a recipient away when it is to be tried again. */
  function isDue(recipient: KeyedRecipient, { sandbox }: SubmittedMail, fromDomain: string): boolean {
    const { holder, result } = recipient
    if (!holder) return true
    if (!result) return false
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
    const recipientKeys = group.map(({ key }) => key)
    if (retryOf) await keys.renew(accountId, recipientKeys)
    const results = await sendTo(
      message,
      group.map(({ address }) => address),
      retryOf ? mail : { ...mail, recipientKeys },
    ).catch(async (error) => {
      if (await isAnotherOne(error, group, accountId)) return []
      throw error
    })
    group.forEach((recipient, i) => {
      recipient.result = results[i]
    })
  }

  /** A limit may have been used up, and a recipient may have been retried, by a repeat of the same message. */
  async function isAnotherOne(error: unknown, group: KeyedRecipient[], accountId: string): Promise<boolean> {
    const reason = reasonOf(error)
    if (reason !== 'rate_limit_exceeded' && reason !== 'invalid_payload') return false
    const holders = await keys.find(
      accountId,
      group.map(({ key }) => key),
    )
    return group.some(({ holder }, i) => holder?.messageId !== holders[i]?.messageId)
  }

  /** Empty when another request has just taken a key. */
  async function sendTo(
    message: Message,
    addresses: Address[],
    { accountId, sandbox, ...more }: SubmittedMail & { retryOf?: string; recipientKeys?: string[] },
  ): Promise<RecipientResult[]> {
    const part = {
      ...message,
      to: addresses,
      recipients: message.recipients.filter(({ address }) => addresses.includes(address)),
      retryOf: more.retryOf,
    }
    const response = await send(part, { accountId, sandbox, recipientKeys: more.recipientKeys, signal: NEVER })
    return response ? resultsOf(response, addresses, sandbox) : []
  }
}

function resultsOf(response: SendResponse, addresses: Address[], sandbox: boolean): RecipientResult[] {
  const { messageId, recipients } = response
  if (recipients.length > 0) {
    return recipients.map((outcome) => ({ email: outcome.email, messageId, outcome, sandbox }))
  }
  const { status, reason, retryable, inDoubt, smtp, suppression, detail } = response
  const only = create(RecipientOutcomeSchema, { status, reason, retryable, inDoubt, smtp, suppression, detail })
  return [{ email: addresses[0]!.address, messageId, outcome: only, sandbox }]
}
