import { domainOf, lowerAscii, matchingFormOf } from '../../mail/address.ts'
import type { ReturnPath } from '../domains/return-path.ts'
import { ERASED_DOMAIN } from '../reputation/erased-form.ts'

// Anyone who got a message knows a return path of it. So a report is believed only about recipients of the domain that
// got the same return path. A message and those that retry it have one return path together.

/** A recipient of a message in history. */
export interface HistoryRecipient {
  messageId: string
  email: string
  status: string
  kind: string
  position: number
  /** Its server accepted the message, or may have. */
  mayHaveIt: boolean
  /** The mail exchanger that had it; null when it is not known. */
  mx: string | null
}

/** The recipients that a report can be about. */
export interface Concerned {
  /** Returns the recipient that a report with these addresses is about. */
  find(addresses: string[]): HistoryRecipient | undefined
  /** Several recipients know the return path, so one of them may have written a report about another. */
  isShared: boolean
}

/** The recipients who may have the message, or one that retries it, and whose domain the return path names. */
export function concernedBy({ messageId, position }: ReturnPath, recipients: HistoryRecipient[]): Concerned {
  const first = recipients.find((recipient) => recipient.messageId === messageId && recipient.position === position)
  const isOfDomain = (recipient: HistoryRecipient) =>
    position === undefined || recipient === first || (first !== undefined && shareDomain(recipient, first))
  const concerned = recipients.filter((recipient) => recipient.mayHaveIt && isOfDomain(recipient))
  const isSole = concerned.length === 1 && !recipients.some((other) => other !== concerned[0] && isHidden(other))
  const forms: (string | undefined)[] = concerned.map(({ email }) => lowerAscii(email))
  return {
    find(addresses) {
      const index = addresses.map((address) => forms.indexOf(matchingFormOf(address))).find((i) => i >= 0)
      // A report may name a forwarding address, or hide it. Only a sole recipient is meant anyway.
      return concerned[index ?? (isSole ? 0 : -1)]
    },
    isShared: !isSole,
  }
}

/** Erasure has replaced the address, and nothing tells its domain. */
const isHidden = (recipient: HistoryRecipient) => recipient.mayHaveIt && recipientDomain(recipient) === ERASED_DOMAIN

const shareDomain = (one: HistoryRecipient, other: HistoryRecipient) =>
  recipientDomain(one) === recipientDomain(other) && recipientDomain(one) !== ERASED_DOMAIN

const recipientDomain = ({ email }: HistoryRecipient) => lowerAscii(domainOf(email))
