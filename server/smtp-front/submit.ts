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
import type { Send } from '../sending/send.ts'
import { pausesUntil } from '../sending/sharing.ts'
import { type KnownRecipient, KnownRecipients, keysToTake } from './known-recipients.ts'
import type { FrontMail } from './parts.ts'
import { NO_FIELDS, type ProgramFields, readProgramFields } from './program-fields.ts'
import { receivedField } from './received.ts'
import { type RecipientAnswer, type RecipientResult, resultsOf } from './results.ts'
import { digestAside, keysOfRecipient } from './same-message.ts'
import { createUnclaimed } from './unclaimed.ts'

/** A message whose final dot has arrived. */
export interface SubmittedMail extends Omit<FrontMail, 'key' | 'remoteAddress'> {
  accountId: string
  /** A test key: everything is checked, nothing is sent. */
  sandbox: boolean
  /** As in `SendOptions`. */
  endWork(): void
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
export function createSubmit({ db, senderDomains, ...parts }: SubmitParts) {
  const tools = { ...parts, known: new KnownRecipients(db), unclaimed: createUnclaimed() }

  return async (submitted: SubmittedMail): Promise<RecipientResult[]> => {
    await checkSender(submitted, senderDomains)
    const fields = fieldsOf(submitted)
    const mail = { ...submitted, sandbox: submitted.sandbox || fields.sandbox }
    const distinct = [...new Map(mail.recipients.map((recipient) => [recipient.address, recipient])).values()]
    const message = await readMail(mail, distinct, fields, senderDomains)
    const { sandbox, isLmtp: keepsMessageId } = mail
    const { idempotencyKey, tenantId } = fields
    const { raw } = message
    const digest = await digestAside(mail.accountId, { source: raw.source, parts: raw.parts })
    const same = { sandbox, idempotencyKey, tenantId, messageId: raw.messageId, digest, keepsMessageId }
    const recipients = distinct.map((address): KnownRecipient => {
      return { address, keys: keysOfRecipient(same, address.address) }
    })
    return new Submission(tools, { mail, message, recipients }).run()
  }
}

async function checkSender({ accountId, sender }: SubmittedMail, senderDomains: SenderDomains): Promise<void> {
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
  senderDomains: SenderDomains,
) {
  const { accountId, content, isUtf8 } = mail
  const to = recipients.slice(0, MAX_RECIPIENTS).map(({ address }) => address)
  const request = create(SendRequestSchema, { to, raw: content, tag, tenantId, metadata })
  const door = { accountId, senderDomains, mayBeUtf8: isUtf8, rawName: WHOLE_MESSAGE }
  const { raw, ...message } = await readRequest(request, door)
  if (!raw) throw new Error('a request with a raw message was read as one without')
  const header = Buffer.concat([receivedField(mail, recipients, new Date()), raw.header])
  return { ...message, raw: { ...raw, header } }
}

interface Submitted {
  mail: SubmittedMail
  message: Message
  recipients: KnownRecipient[]
}

interface SubmissionTools extends Pick<SubmitParts, 'send' | 'leaseMs'> {
  known: KnownRecipients
  unclaimed: ReturnType<typeof createUnclaimed>
}

/** A message on its way to its recipients. */
class Submission {
  readonly #tools: SubmissionTools
  readonly #mail: SubmittedMail
  readonly #message: Message
  readonly #recipients: KnownRecipient[]
  /** Keys on their way to `running` messages of a client that has left. */
  readonly #given: Promise<void>[] = []
  #noteClaimed = () => {}

  constructor(tools: SubmissionTools, { mail, message, recipients }: Submitted) {
    this.#tools = tools
    this.#mail = mail
    this.#message = message
    this.#recipients = recipients
  }

  async run(): Promise<RecipientResult[]> {
    const { known, unclaimed } = this.#tools
    const { accountId, left, hasRead } = this.#mail
    const recipients = this.#recipients
    const ofContent = recipients.flatMap(({ keys }) => (keys.ofContent ? [`${accountId} ${keys.ofContent}`] : []))
    await unclaimed.untilClaimed(ofContent)
    const onLeave = () => {
      this.#noteClaimed = unclaimed.add(ofContent)
      this.#giveToRunning()
    }
    if (left.aborted) onLeave()
    left.addEventListener('abort', onLeave)
    try {
      const results = await this.#untilAnswered()
      await Promise.all(this.#given)
      await known.giveKeys(accountId, recipients, { hasLeft: left.aborted })
      if (left.aborted) void hasRead.then(() => known.noteRead(accountId, recipients))
      return results
    } catch (error) {
      // The connection is closed without a reply, which is a reason to send again.
      if (error instanceof OutcomeUnknown) await known.giveToRunning(accountId, recipients)
      throw error
    } finally {
      left.removeEventListener('abort', onLeave)
      this.#noteClaimed()
    }
  }

  async #untilAnswered(): Promise<RecipientResult[]> {
    const untilMs = performance.now() + this.#tools.leaseMs + CALL_TIMES.repeatMs
    for (const pause = pausesUntil(untilMs); ; await pause()) {
      await this.#answerAll()
      const results = this.#recipients.flatMap(({ result }) => result ?? [])
      if (results.length === this.#recipients.length) return results
      this.#mail.endWork()
    }
  }

  /** To be called when some recipients have a `running` message. */
  #giveToRunning(): void {
    if (!this.#mail.left.aborted) return
    this.#given.push(this.#tools.known.giveToRunning(this.#mail.accountId, this.#recipients))
    const isClaimed = this.#recipients.every(({ running, result }) => running || result)
    if (isClaimed) void Promise.all(this.#given).then(this.#noteClaimed)
  }

  /** Gives results to the recipients that have none. Recipients to which another request is sending get none. */
  async #answerAll(): Promise<void> {
    const { accountId, sandbox } = this.#mail
    const open = this.#recipients.filter(({ result }) => !result)
    const fromDomain = this.#message.from.domain
    const due = await this.#tools.known.findDue(open, { accountId, sandbox, fromDomain })
    const groups = Map.groupBy(due, ({ holder }) => holder?.messageId)
    const sends = [...groups].flatMap(([retryOf, group]) =>
      chunksOf(group, MAX_RECIPIENTS).map((chunk) => this.#sendToGroup(chunk, retryOf)),
    )
    const failed = (await Promise.allSettled(sends)).find((end) => end.status === 'rejected')
    if (failed) throw failed.reason
  }

  async #sendToGroup(group: KnownRecipient[], retryOf: string | undefined): Promise<void> {
    const { known } = this.#tools
    const { accountId } = this.#mail
    if (retryOf) await known.renew(accountId, group)
    const results = await this.#send(group, retryOf).catch(async (error): Promise<RecipientResult[]> => {
      if (error instanceof OutcomeUnknown) throw error
      if (mayBeRepeated(error) && (await known.haveMoved(accountId, group))) return []
      return group.map(({ address }) => ({ email: address.address, error }))
    })
    for (const [position, recipient] of group.entries()) {
      const result = results[position]
      recipient.result = result
      if (!result || 'error' in result) continue
      const messageId = parsePublicId('msg', result.messageId)
      if (!messageId) throw new OutcomeUnknown({ cause: new Error(`${result.messageId} is no id`) })
      recipient.holder = { messageId, position, leaseLeftMs: null }
    }
  }

  /** Empty when another request has just taken a key. */
  async #send(group: readonly KnownRecipient[], retryOf: string | undefined): Promise<RecipientAnswer[]> {
    const { accountId, sandbox, endWork } = this.#mail
    const addresses = group.map(({ address }) => address)
    const recipients = addresses.map((address) => ({ address, kind: 'to' as const }))
    const keys = group.map(keysToTake)
    const response = await this.#tools.send(
      { ...this.#message, to: addresses, recipients, retryOf },
      {
        ...{ accountId, sandbox, endWork, signal: NEVER },
        recipientKeys: retryOf || keys.flat().length === 0 ? undefined : keys,
        onClaim: (messageId) => {
          for (const [position, recipient] of group.entries()) recipient.running = { messageId, position }
          this.#giveToRunning()
        },
      },
    )
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
