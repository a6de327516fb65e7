import { isUtf8 } from 'node:buffer'
import { cleanText } from '../../../net/clean-text.ts'
import { hasControls, type Mailbox, parseMailbox } from '../../address.ts'
import { calendarMethods } from '../calendar.ts'
import { decodeWords } from '../encoded-words.ts'
import { field } from '../header-fields.ts'
import { hasBeyondAscii, hasEncodedAddress, splitAddresses } from './addresses.ts'
import { createHeader, type RawField, valuesOf } from './header.ts'
import { type Line, scanLines } from './lines.ts'
import { createParts, decodePart, type MimePart } from './parts.ts'

/** A message that others have built, checked and ready to be signed. Nothing in it is re-encoded. */
export interface RawMessage {
  /** The header without the fields that are removed, each with its CRLF. */
  header: Buffer
  /** What follows the empty line. It ends with CRLF, or is empty. */
  body: Buffer[]
  hasDate: boolean
  /** As written; absent without one. */
  messageId?: string
  /** It travels with BODY=8BITMIME. */
  isEightBit: boolean
  from: Mailbox
  /** Decoded; empty without one. */
  subject: string
  parts: MimePart[]
  /** The whole message as it was given. */
  source: Buffer
}

/** Fields that a message has at most once (RFC 5322 3.6). Readers disagree about which of two they show. */
const ONCE = [
  ...['from', 'sender', 'reply-to', 'to', 'cc', 'subject', 'date', 'message-id'],
  ...['mime-version', 'content-type', 'content-transfer-encoding'],
]
/** Blind copies would name their recipients, and only the last server may write Return-Path. */
const REMOVED = ['bcc', 'resent-bcc', 'return-path']
const ADDRESS_FIELDS = ['from', 'sender', 'reply-to', 'to', 'cc']
const MAX_SUBJECT = 998

/**
 * Reads a whole message in one pass. Returns its first fault, as the end of a sentence. `mayBeUtf8`: its header, and
 * those of its parts, may hold UTF-8 (RFC 6532).
 */
export function readRaw(source: Buffer, { mayBeUtf8 = false } = {}): RawMessage | { fault: string } {
  const header = createHeader(source)
  let parts: ReturnType<typeof createParts> | undefined
  let headerEnd = source.length
  let isEightBit = false
  const fault = scanLines(source, (line) => {
    if (parts) {
      isEightBit ||= line.isEightBit
      return parts.add(line)
    }
    if (line.start === line.end) {
      headerEnd = line.start
      parts = createParts(source, header.fields, { bodyStart: line.end + 2, mayBeUtf8 })
      return undefined
    }
    return eightBitFault(source, line, mayBeUtf8) ?? header.add(line)
  })
  if (fault) return { fault }
  const { fields } = header
  const headerFault = faultOf(fields)
  if (headerFault) return { fault: headerFault }
  const readParts = (parts ?? createParts(source, fields, { bodyStart: source.length, mayBeUtf8 })).end()
  const calendarFault = calendarFaultOf(readParts, source)
  if (calendarFault) return { fault: calendarFault }
  const from = oneMailbox(fields, 'from')!
  const body = source.subarray(headerEnd + 2)
  return {
    header: Buffer.concat(
      fields
        .filter(({ name }) => !REMOVED.includes(name))
        .flatMap(({ start, end }) => withLineEnd(source.subarray(start, end))),
    ),
    body: withLineEnd(body),
    hasDate: fields.some(({ name }) => name === 'date'),
    messageId: valuesOf(fields, 'message-id')[0],
    isEightBit,
    from,
    subject: decodeWords(valuesOf(fields, 'subject')[0] ?? '')
      .slice(0, MAX_SUBJECT)
      .toWellFormed(),
    parts: readParts,
    source,
  }
}

/**
 * The message in pieces, as `buildMessage` returns them: the first one holds the whole header, with Date and Message-ID
 * where the message had none.
 */
export function completeRaw(raw: RawMessage, { messageId, date }: { messageId: string; date: Date }): Buffer[] {
  const added = [
    raw.hasDate ? '' : field('Date', date.toUTCString().replace('GMT', '+0000')),
    raw.messageId !== undefined ? '' : field('Message-ID', `<${messageId}>`),
  ]
  return [Buffer.concat([raw.header, Buffer.from(`${added.join('')}\r\n`)]), ...raw.body]
}

function eightBitFault(source: Buffer, { start, end, number, isEightBit }: Line, mayBeUtf8: boolean) {
  if (!isEightBit) return undefined
  if (!mayBeUtf8)
    return `has an 8-bit octet in its header, in line ${number}. Use encoded words (RFC 2047), or SMTPUTF8 over SMTP`
  return isUtf8(source.subarray(start, end)) ? undefined : `has a header that is not UTF-8, in line ${number}`
}

const CRLF = Buffer.from('\r\n')

/** The last line may lack its line end. */
function withLineEnd(octets: Buffer): Buffer[] {
  return octets.length === 0 || octets.at(-1) === CRLF[1] ? [octets] : [octets, CRLF]
}

function faultOf(fields: readonly RawField[]): string | undefined {
  for (const name of ONCE) {
    const count = fields.filter((field) => field.name === name).length
    if (count > 1) return `has ${count} ${shown(name)} headers; a message has at most one`
  }
  if (valuesOf(fields, 'from').length === 0) return 'has no From header'
  for (const name of ADDRESS_FIELDS) {
    const fault = addressFault(fields, name)
    if (fault) return fault
  }
  const [subject = ''] = valuesOf(fields, 'subject')
  if (hasControls(decodeWords(subject))) return 'has a Subject that holds a line break or another control character'
  return senderFault(fields)
}

function addressFault(fields: readonly RawField[], name: string): string | undefined {
  const [value] = valuesOf(fields, name)
  if (value === undefined) return undefined
  if (hasControls(decodeWords(value)))
    return `has a ${shown(name)} that holds a line break or another control character`
  const list = splitAddresses(value)
  if (!list) return `has a ${shown(name)} that is no list of addresses`
  // A copy for blind recipients alone often has `To: undisclosed-recipients:;`.
  const mayHaveEmptyGroup = name === 'to' || name === 'cc'
  if (list.groups > 0 || (list.emptyGroups > 0 && !mayHaveEmptyGroup)) return `has a group in ${shown(name)}`
  if (list.mailboxes.some(hasEncodedAddress)) return `has an encoded word inside an address of ${shown(name)}`
  if (name !== 'from' && name !== 'sender') return undefined
  if (list.mailboxes.length !== 1) return `has ${list.mailboxes.length} addresses in ${shown(name)}; it must have one`
  // Servers and readers disagree about which forms of a letter or a dot are the same domain.
  if (list.mailboxes.some(hasBeyondAscii)) {
    return `has letters beyond ASCII in the address of ${shown(name)}; write its domain in A-labels (xn--)`
  }
  return oneMailbox(fields, name) ? undefined : `has a ${shown(name)} that is not an email address the service can use`
}

/** Calendars disagree about an invitation whose two methods differ: they believe one of them, or ignore it. */
function calendarFaultOf(parts: readonly MimePart[], source: Buffer): string | undefined {
  for (const part of parts) {
    const { method, isForwarded } = part
    if (method === undefined || isForwarded) continue
    const calendar = Buffer.from(decodePart(part, source))
    const other = calendarMethods(calendar).find((one) => one !== method.toUpperCase())
    if (other === undefined) continue
    const [found, given] = [other, method].map((text) => cleanText(text).slice(0, MAX_METHOD))
    return `has a calendar with METHOD ${found}, but its Content-Type has method=${given}. They must be the same`
  }
  return undefined
}

const MAX_METHOD = 40

/** Some receivers show Sender as who sent the message. */
function senderFault(fields: readonly RawField[]): string | undefined {
  const sender = oneMailbox(fields, 'sender')
  const from = oneMailbox(fields, 'from')!
  if (!sender || sender.domain === from.domain) return undefined
  return `has a Sender of ${sender.domain}; it must be of the domain of From, ${from.domain}`
}

function oneMailbox(fields: readonly RawField[], name: string): Mailbox | undefined {
  const [value] = valuesOf(fields, name)
  const [mailbox] = (value !== undefined && splitAddresses(value)?.mailboxes) || []
  return mailbox === undefined ? undefined : parseMailbox(mailbox)
}

const NAMES: Record<string, string> = { 'message-id': 'Message-ID', 'mime-version': 'MIME-Version' }

const shown = (name: string) => NAMES[name] ?? name.replace(/(?:^|-)[a-z]/g, (letter) => letter.toUpperCase())
