import { isUtf8 } from 'node:buffer'
import { cleanText } from '../../../net/clean-text.ts'
import { hasControls, type Mailbox, parseMailbox } from '../../address.ts'
import { otherMethod } from '../calendar.ts'
import { decodeWords } from '../encoded-words.ts'
import { field, rfcDate } from '../header-fields.ts'
import { hasBeyondAscii, hasEncodedAddress, splitAddresses } from './addresses.ts'
import { HeaderReader, MAX_RECEIVED, type RawField, TOO_MANY_RECEIVED, valuesOf } from './header.ts'
import { LAST, type Line, scanLines } from './lines.ts'
import { decodePart, type MimePart, PartsReader } from './parts.ts'
import { isServiceField } from './service-fields.ts'

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
/** Programs write `To: Friends: ann@example.net, bob@example.net;`, and `undisclosed-recipients:;` for a blind copy. */
const MAY_HAVE_GROUPS = ['to', 'cc']
const MAX_SUBJECT = 998

/** The header of a message, whose form has no fault. */
export interface RawHeader {
  fields: RawField[]
  from: Mailbox
  mayBeUtf8: boolean
  /** Where the empty line after it begins, or the message ends. */
  end: number
  /** The number of that line. */
  lines: number
}

/** What follows the header, as it was given. */
export interface RawBody {
  isEightBit: boolean
  parts: MimePart[]
}

type OrFault<Value> = Value | { fault: string }

/**
 * Reads a whole message in one pass. Returns its first fault, as the end of a sentence. `mayBeUtf8`: its header, and
 * those of its parts, may hold UTF-8 (RFC 6532).
 */
export function readRaw(source: Buffer, options: { mayBeUtf8?: boolean } = {}): OrFault<RawMessage> {
  const header = readRawHeader(source, options)
  if ('fault' in header) return header
  const body = readRawBody(source, header)
  return 'fault' in body ? body : rawMessage(source, header, body)
}

/** Reads the header alone: 64 KiB of any message at most. */
export function readRawHeader(source: Buffer, { mayBeUtf8 = false } = {}): OrFault<RawHeader> {
  const header = new HeaderReader(source, { isStrict: true })
  let [end, lines] = [source.length, 0]
  const fault = scanLines(source, (line) => {
    lines = line.number
    if (line.start < line.end) return eightBitFault(source, line, mayBeUtf8) ?? header.add(line)
    end = line.start
    return LAST
  })
  if (fault) return { fault }
  const fields = header.end()
  const fieldFault = faultOf(fields)
  if (fieldFault) return { fault: fieldFault }
  return { fields, from: oneMailbox(fields, 'from')!, mayBeUtf8, end, lines }
}

/** Reads what follows the header. */
export function readRawBody(source: Buffer, { fields, mayBeUtf8, end, lines }: RawHeader): OrFault<RawBody> {
  const bodyStart = Math.min(end + CRLF.length, source.length)
  const parts = new PartsReader(source, fields, { bodyStart, mayBeUtf8 })
  let isEightBit = false
  const onLine = (line: Line) => {
    isEightBit ||= line.isEightBit
    return parts.add(line)
  }
  const fault = scanLines(source, onLine, { start: bodyStart, number: lines + 1 })
  if (fault) return { fault }
  const readParts = parts.end()
  const calendarFault = calendarFaultOf(readParts, source)
  return calendarFault ? { fault: calendarFault } : { isEightBit, parts: readParts }
}

export function rawMessage(source: Buffer, { fields, from, end }: RawHeader, body: RawBody): RawMessage {
  return {
    header: withoutRemoved(source, fields),
    body: withLineEnd(source.subarray(end + CRLF.length)),
    hasDate: fields.some(({ name }) => name === 'date'),
    messageId: valuesOf(fields, 'message-id')[0],
    from,
    subject: decodeWords(valuesOf(fields, 'subject')[0] ?? '')
      .slice(0, MAX_SUBJECT)
      .toWellFormed(),
    source,
    ...body,
  }
}

/** Fields in a row are copied at once. */
function withoutRemoved(source: Buffer, fields: readonly RawField[]): Buffer {
  const kept: Buffer[] = []
  let [start, end] = [0, 0]
  for (const field of fields) {
    if (REMOVED.includes(field.name) || isServiceField(field.name)) continue
    if (field.start !== end) {
      kept.push(source.subarray(start, end))
      start = field.start
    }
    end = field.end
  }
  return Buffer.concat([...kept, ...withLineEnd(source.subarray(start, end))])
}

/**
 * The message in pieces, as `buildMessage` returns them: the first one holds the whole header, with Date and Message-ID
 * where the message had none.
 */
export function completeRaw(
  raw: Pick<RawMessage, 'header' | 'body' | 'hasDate' | 'messageId'>,
  { messageId, date }: { messageId: string; date: Date },
): Buffer[] {
  const added = [
    raw.hasDate ? '' : field('Date', rfcDate(date)),
    raw.messageId !== undefined ? '' : field('Message-ID', `<${messageId}>`),
  ]
  return [Buffer.concat([raw.header, Buffer.from(`${added.join('')}\r\n`)]), ...raw.body]
}

function eightBitFault(source: Buffer, { start, end, number, isEightBit }: Readonly<Line>, mayBeUtf8: boolean) {
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
  const counts = new Map<string, number>()
  for (const { name } of fields) counts.set(name, (counts.get(name) ?? 0) + 1)
  for (const name of ONCE) {
    const count = counts.get(name) ?? 0
    if (count > 1) return `has ${count} ${shown(name)} headers; a message has at most one`
  }
  if (valuesOf(fields, 'from').length === 0) return 'has no From header'
  if (valuesOf(fields, 'received').length > MAX_RECEIVED) return TOO_MANY_RECEIVED
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
  if (list.hasGroup && !MAY_HAVE_GROUPS.includes(name)) return `has a group in ${shown(name)}`
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
    const other = otherMethod(Buffer.from(decodePart(part, source)), method)
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
  const from = oneMailbox(fields, 'from')
  if (!sender || !from || sender.domain === from.domain) return undefined
  return `has a Sender of ${sender.domain}; it must be of the domain of From, ${from.domain}`
}

function oneMailbox(fields: readonly RawField[], name: string): Mailbox | undefined {
  const [value] = valuesOf(fields, name)
  const [mailbox] = (value !== undefined && splitAddresses(value)?.mailboxes) || []
  return mailbox === undefined ? undefined : parseMailbox(mailbox)
}

const NAMES: Record<string, string> = { 'message-id': 'Message-ID', 'mime-version': 'MIME-Version' }

const shown = (name: string) => NAMES[name] ?? name.replace(/(?:^|-)[a-z]/g, (letter) => letter.toUpperCase())
