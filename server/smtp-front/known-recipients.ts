import type { Address } from '../../mail/address.ts'
import type { Database } from '../db/connect.ts'
import { publicId } from '../db/ids.ts'
import { OutcomeUnknown } from '../errors.ts'
import { sweepMessage } from '../ledger/sweep.ts'
import { explain } from '../sending/rejection.ts'
import { storedOutcomes } from '../sending/stored-response.ts'
import { createHeldKeys, type GivenKey, type KeyHolder } from './held-keys.ts'
import { mayBeTriedAgain, type RecipientResult } from './results.ts'
import type { RecipientKeys } from './same-message.ts'

/** A recipient of a message that is being sent. */
export interface KnownRecipient extends Found {
  address: Address
  keys: RecipientKeys
  result?: RecipientResult
  /** The message to it that is being sent. */
  running?: Pick<KeyHolder, 'messageId' | 'position'>
  /** The key of the content was given to `running`. */
  isGiven?: boolean
}

/** The message to a recipient that came before. */
interface Found {
  holder?: KeyHolder
  /** The content alone has led to the holder. */
  isRepeated?: boolean
  /** The key of the content leads to the holder. */
  hasContentKey?: boolean
  /** The key of the content has led to the holder until another repeat was answered. */
  isTakenAway?: boolean
  /** The idempotency key has led to the holder, which has other content. */
  hadOtherContent?: boolean
}

const NOT_FOUND: Found = { holder: undefined, isRepeated: false, hasContentKey: false, hadOtherContent: false }

const KEY_HOURS = 24
/** Programs that make a new Message-ID when they send again do so soon. */
const CONTENT_KEY_HOURS = 1

/** The keys that a message to a recipient takes. */
export const keysToTake = ({ keys: { own, ofKeyAndContent } }: KnownRecipient): string[] =>
  [own, ofKeyAndContent].filter((key) => key !== undefined)

/** Finds what recipients were answered when their message came before. */
export class KnownRecipients {
  readonly #db: Database
  readonly #keys: ReturnType<typeof createHeldKeys>

  constructor(db: Database) {
    this.#db = db
    this.#keys = createHeldKeys(db)
  }

  /** Finds the answers of recipients. Returns those to whom the message is to be sent now. */
  async findDue(
    recipients: KnownRecipient[],
    { accountId, sandbox, fromDomain }: { accountId: string; sandbox: boolean; fromDomain: string },
  ): Promise<KnownRecipient[]> {
    const found = await this.#findHolders(accountId, recipients)
    for (const [i, recipient] of recipients.entries()) Object.assign(recipient, found[i])
    await this.#readStored(recipients, sandbox)
    return recipients.filter((recipient) => isDue(recipient, fromDomain))
  }

  /** Whether another request has sent to one of them since they were found. */
  async haveMoved(accountId: string, recipients: readonly KnownRecipient[]): Promise<boolean> {
    const found = await this.#findHolders(accountId, recipients)
    return recipients.some(({ holder }, i) => holder?.messageId !== found[i]?.holder?.messageId)
  }

  /** Each new message renews the keys of its recipients. */
  renew(accountId: string, recipients: readonly KnownRecipient[]): Promise<void> {
    return this.#keys.renew(accountId, recipients.flatMap(keysToTake))
  }

  /**
   * A client that has left sends again, often at once and with a new Message-ID. Its content leads to the messages
   * that are being sent. A failure is ignored, because `giveKeys` gives the same keys when the messages are answered.
   */
  async giveToRunning(accountId: string, recipients: readonly KnownRecipient[]): Promise<void> {
    const given = recipients.flatMap(({ keys: { ofContent }, running }): GivenKey[] =>
      ofContent && running ? [{ key: ofContent, holder: running, hours: CONTENT_KEY_HOURS }] : [],
    )
    const isGiven = await this.#keys.give(accountId, given).then(
      () => true,
      () => false,
    )
    for (const recipient of recipients) recipient.isGiven = isGiven && recipient.running !== undefined
  }

  /**
   * Gives the keys that lead a repeat to the answers, and takes away those that a repeat has used. Without the keys,
   * the repeat of a client that got 451, or has left, would reach some recipients twice: no reply is better. A server
   * that greylists would refuse the repeat, because its envelope sender would be new.
   */
  async giveKeys(
    accountId: string,
    recipients: readonly KnownRecipient[],
    { hasLeft }: { hasLeft: boolean },
  ): Promise<void> {
    const isAsked = isAskedAgain(recipients)
    const given = recipients.flatMap(({ keys: { own, ofContent }, holder, isRepeated, ...its }): GivenKey[] => {
      if (!holder) return []
      // A key that was given before may have been taken away by a repeat that was answered first.
      const isNew = !its.isGiven && !its.isTakenAway
      const isKnownAgain = ofContent !== undefined && (isAsked || (hasLeft && isNew))
      return [
        ...(own !== undefined && isRepeated ? [{ key: own, holder, hours: KEY_HOURS }] : []),
        ...(isKnownAgain ? [{ key: ofContent, holder, hours: CONTENT_KEY_HOURS }] : []),
      ]
    })
    const over = recipients.flatMap(({ keys: { ofContent }, holder, hasContentKey }) => {
      // A send that failed has no message. Once a repeat is answered, an equal message is a new one.
      const isOver = hasLeft ? !holder : hasContentKey && !isAsked
      return isOver && ofContent !== undefined ? [ofContent] : []
    })
    await Promise.all([this.#keys.give(accountId, given), this.#keys.takeAway(accountId, over)]).catch((cause) => {
      throw new OutcomeUnknown({ cause })
    })
  }

  /** A client that had closed its sending side has read its reply. Unless that was 451, an equal message is new. */
  async noteRead(accountId: string, recipients: readonly KnownRecipient[]): Promise<void> {
    if (isAskedAgain(recipients)) return
    const over = recipients.flatMap(({ keys: { ofContent } }) => ofContent ?? [])
    await this.#keys.takeAway(accountId, over).catch(() => {})
  }

  async #find(accountId: string, key: string | undefined) {
    return key === undefined ? undefined : this.#keys.find(accountId, key)
  }

  async #findOne(accountId: string, { own, ofKeyAndContent, ofContent }: RecipientKeys): Promise<Found> {
    const [holder, contentHolder] = await Promise.all([this.#find(accountId, own), this.#find(accountId, ofContent)])
    // Asked after `own`: one commit takes both.
    const hadOtherContent =
      holder !== undefined && ofKeyAndContent !== undefined && !(await this.#find(accountId, ofKeyAndContent))
    return {
      holder: holder ?? contentHolder,
      isRepeated: !holder && contentHolder !== undefined,
      hasContentKey: contentHolder !== undefined && (!holder || holder.messageId === contentHolder.messageId),
      hadOtherContent,
    }
  }

  #findHolders(accountId: string, recipients: readonly KnownRecipient[]): Promise<Found[]> {
    return Promise.all(
      recipients.map(async ({ keys, holder, isRepeated }): Promise<Found> => {
        const found = await this.#findOne(accountId, keys)
        if (found.holder || !holder) return found
        // Another repeat has got its answer while this one waited, and has taken the key away that led here.
        const last = await this.#keys.follow(holder)
        return last ? { ...found, holder: last, isRepeated, isTakenAway: true } : found
      }),
    )
  }

  /** Gives stored results to recipients. Recipients to which another request is sending get none. */
  async #readStored(recipients: KnownRecipient[], sandbox: boolean): Promise<void> {
    const held = recipients.flatMap((recipient) => {
      return recipient.holder ? [{ recipient, ...recipient.holder }] : []
    })
    for (const [messageId, ofMessage] of Map.groupBy(held, (each) => each.messageId)) {
      const [first] = ofMessage
      if (!first) continue
      const { leaseLeftMs } = first
      if (leaseLeftMs !== null && leaseLeftMs <= 0) await sweepMessage(this.#db, messageId)
      const outcomes = leaseLeftMs === null ? await storedOutcomes(this.#db, messageId) : []
      // A client that left while its send failed has given the key of its content to a message that was released.
      const isReleased = leaseLeftMs === null && outcomes.length === 0
      for (const { recipient, position } of ofMessage) {
        const { address, isRepeated, hadOtherContent } = recipient
        const outcome = outcomes[position]
        const known = { email: address.address, messageId: publicId('msg', messageId), sandbox }
        if (isReleased) Object.assign(recipient, NOT_FOUND)
        else if (outcome) recipient.result = { ...known, outcome, isRepeated, hadOtherContent }
      }
    }
  }
}

/** Whether the reply is 451. */
const isAskedAgain = (recipients: readonly KnownRecipient[]) =>
  recipients.some(({ result }) => !result || mayBeTriedAgain(result))

/** Takes the stored answer of a recipient away when it is to be tried again. Other content is never sent. */
function isDue(recipient: KnownRecipient, fromDomain: string): boolean {
  const { holder, result, hadOtherContent } = recipient
  if (!holder) return true
  if (!result || 'error' in result) return false
  explain(result.outcome, fromDomain)
  if (hadOtherContent || result.sandbox || !result.outcome.retryable) return false
  recipient.result = undefined
  return true
}
