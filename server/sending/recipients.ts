import type { SendRequest } from '../../gen/verdict/v1/emails_pb.ts'
import { type Address, type Mailbox, needsSmtpUtf8, parseMailbox } from '../../mail/address.ts'
import type { FieldFault } from '../errors.ts'
import type { RecipientKindName } from '../ledger/claim.ts'
import { addressFault } from './address-fault.ts'

export const MAX_RECIPIENTS = 50
export const MAX_REPLY_TO = 10

/** One email: an address and the field that gave it. */
export interface Recipient {
  address: Address
  kind: RecipientKindName
}

export interface Recipients {
  /** The mailboxes of each field, for the headers and Get email. A field names an address once. */
  to: Mailbox[]
  cc: Mailbox[]
  bcc: Mailbox[]
  /** The distinct addresses, at least one, each of the first field that gave it. */
  recipients: Recipient[]
}

/** The faults of a request. Those of addresses are apart, because they have their own error code. */
export interface SendFaults {
  payload: FieldFault[]
  addresses: FieldFault[]
}

/** In the order in which an address counts. */
const FIELDS = ['to', 'cc', 'bcc'] as const

export function readRecipients(request: Pick<SendRequest, (typeof FIELDS)[number]>, faults: SendFaults): Recipients {
  if (request.to.length === 0) {
    faults.payload.push({ field: 'to', message: 'is required: one recipient address or a list of them' })
  }
  const distinct = new Map<string, Recipient>()
  const given: Omit<Recipients, 'recipients'> = { to: [], cc: [], bcc: [] }
  for (const kind of FIELDS) {
    const mailboxes = new Map<string, Mailbox>()
    for (const [i, text] of request[kind].entries()) {
      const mailbox = readMailbox(placeOf(kind, request[kind], i), text, faults)
      if (mailbox && !mailboxes.has(mailbox.address)) mailboxes.set(mailbox.address, mailbox)
      if (mailbox && !distinct.has(mailbox.address)) distinct.set(mailbox.address, { address: mailbox, kind })
      if (distinct.size + faults.addresses.length > MAX_RECIPIENTS) {
        const entries = FIELDS.reduce((sum, field) => sum + request[field].length, 0)
        const limit = `${MAX_RECIPIENTS} distinct addresses that to, cc and bcc may have together`
        const message = `exceeds the ${limit}; they hold ${entries} entries`
        faults.payload.push({ field: kind, message })
        return { ...given, recipients: [] }
      }
    }
    given[kind] = [...mailboxes.values()]
  }
  return { ...given, recipients: [...distinct.values()] }
}

export function readReplyTo(texts: string[], faults: SendFaults): Mailbox[] {
  if (texts.length > MAX_REPLY_TO) {
    const message = `holds ${texts.length} addresses; a message has at most ${MAX_REPLY_TO}`
    faults.payload.push({ field: 'reply_to', message })
    return []
  }
  return texts.flatMap((text, i) => {
    const field = placeOf('reply_to', texts, i)
    if (text !== '') return readMailbox(field, text, faults) ?? []
    faults.payload.push({ field, message: addressFault(field, text) })
    return []
  })
}

/** The sender. Its address is ASCII, so that a message needs SMTPUTF8 only for its recipients' sake. */
export function readFrom(text: string, faults: SendFaults): Mailbox | undefined {
  const from = readMailbox('from', text, faults)
  if (from && needsSmtpUtf8(from.address)) {
    const message = 'has a letter beyond ASCII before its @. Recipients and reply_to may have one, a sender may not'
    faults.addresses.push({ field: 'from', message })
  }
  return from
}

function readMailbox(field: string, text: string, faults: SendFaults): Mailbox | undefined {
  const mailbox = parseMailbox(text)
  if (!mailbox) faults.addresses.push({ field, message: addressFault(field, text) })
  return mailbox
}

/** In JSON a list of one may be written without the list. */
const placeOf = (field: string, texts: string[], i: number) => (texts.length === 1 ? field : `${field}[${i}]`)
