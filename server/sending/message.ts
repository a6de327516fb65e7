import type { SendRequest } from '../../gen/verdict/v1/emails_pb.ts'
import { hasControls, type Mailbox, showMailbox } from '../../mail/address.ts'
import type { Attachment } from '../../mail/mime/builder.ts'
import { headerFault, MAX_CUSTOM_HEADERS, MAX_HEADER_VALUE, MAX_REFERENCES } from '../../mail/mime/custom-headers.ts'
import { decodeWords, unfoldWords } from '../../mail/mime/encoded-words.ts'
import type { RawMessage } from '../../mail/mime/raw/read-raw.ts'
import { nameFault } from '../../net/clean-text.ts'
import { parsePublicId } from '../db/ids.ts'
import type { SenderDomains } from '../domains/sender.ts'
import { failFields } from '../errors.ts'
import { ATTACHMENT_LIMITS, attachmentFaults, hasBrokenText, invitationsIn, readAttachments } from './attachments.ts'
import { type Contents, type Given, readContents, readContentsAside } from './contents.ts'
import { ownDomain } from './domain-right.ts'
import { METADATA_LIMITS, metadataFaults, tagFault } from './metadata.ts'
import { type RawOptions, readHeaderOf, readRawMessage } from './raw.ts'
import {
  MAX_RECIPIENTS,
  MAX_REPLY_TO,
  type Recipients,
  readFrom,
  readRecipients,
  readReplyTo,
  type SendFaults,
} from './recipients.ts'

/** Limits of one message. The gateway limits the request as a whole. */
export const MESSAGE_LIMITS = {
  recipients: MAX_RECIPIENTS,
  ...ATTACHMENT_LIMITS,
  bodyBytes: 2 * 1024 * 1024,
  subjectCharacters: 998,
  headers: MAX_CUSTOM_HEADERS,
  headerValueCharacters: MAX_HEADER_VALUE,
  referencesCharacters: MAX_REFERENCES,
  tenantIdCharacters: 128,
  replyTo: MAX_REPLY_TO,
  ...METADATA_LIMITS,
} as const

/** A send request whose every field has been checked. */
export interface Message extends Recipients {
  from: Mailbox
  replyTo: Mailbox[]
  subject: string
  html?: string
  text?: string
  /** The text was to be made from the html. */
  autoText?: boolean
  /** The whole message, as the caller built it. Then it has no bodies, attachments and headers here. */
  raw?: RawMessage
  attachments: Attachment[]
  headers: [name: string, value: string][]
  tenantId?: string
  /** At least one pair. */
  metadata?: Record<string, string>
  tag?: string
  /** The UUID of the message that it retries: see retry.ts. */
  retryOf?: string
  /** As the caller wrote them, for Get email. */
  original: { from: string; replyTo?: string }
}

/** What the door at which a request came asks of it before its contents are read. */
export interface Door extends RawOptions {
  accountId: string
  /** Where the right to the From domain is looked up; in a batch, such a message is a result like any other. */
  senderDomains?: SenderDomains
}

/**
 * The first step of a send: checks every field of the request and returns the message. Throws all faults at once:
 * `invalid_address` when only addresses have faults, `invalid_payload` otherwise. The order is that of their price: the
 * form of a raw header, the right to its From domain, the contents. Large contents are read in a thread.
 */
export async function readRequest(request: SendRequest, door: Door): Promise<Message> {
  const header = request.raw && readHeaderOf(request.raw, door)
  const { accountId, senderDomains } = door
  if (header && 'from' in header && senderDomains) await ownDomain(senderDomains, accountId, header.from.domain)
  return checkRequest(request, {
    ...door,
    header,
    contents: await readContentsAside(accountId, givenBy(request, header)),
  })
}

/** The same for a request without `raw` and without large contents. */
export function readSendRequest(request: SendRequest): Message {
  return checkRequest(request, { header: undefined, contents: readContents(givenBy(request, undefined)) })
}

type Header = ReturnType<typeof readHeaderOf> | undefined

function givenBy({ raw, html, text, autoText, attachments }: SendRequest, header: Header): Given {
  const isTextWanted =
    raw === undefined && autoText && !text && html && Buffer.byteLength(html) <= MESSAGE_LIMITS.bodyBytes
  return {
    raw: header && 'from' in header ? { source: raw!, header } : undefined,
    html: isTextWanted ? html : undefined,
    calendars: raw === undefined ? invitationsIn(attachments.slice(0, MESSAGE_LIMITS.attachments)) : [],
  }
}

function checkRequest(
  request: SendRequest,
  { header, contents, rawName }: RawOptions & { header: Header; contents: Contents },
): Message {
  const faults: SendFaults = { payload: [], addresses: [] }
  const refuse = (field: string, message: string) => void faults.payload.push({ field, message })

  const recipients = readRecipients(request, faults)
  const raw = header && readRawMessage(request, refuse, { header, body: contents.raw, rawName })
  const isRaw = request.raw !== undefined
  if (request.from === '' && !isRaw) refuse('from', 'is required')
  const from = request.from === '' ? raw?.from : readFrom(request.from, faults)
  const replyTo = isRaw ? [] : readReplyTo(request.replyTo, faults)
  const subject = raw ? raw.subject : withoutEndSpaces(decodeWords(unfoldWords(request.subject)))
  if (!isRaw) {
    checkSubject(subject, refuse)
    checkBodies(request, refuse)
    faults.payload.push(...attachmentFaults(request, contents.otherMethods))
    checkHeaders(request.headers, refuse)
  }
  checkTenant(request.tenantId, refuse)
  faults.payload.push(...metadataFaults(request.metadata))
  checkTag(request.tag, refuse)
  const retryOf = readRetryOf(request.retryOf, refuse)

  const fields = [...faults.payload, ...faults.addresses]
  if (fields.length > 0) {
    throw failFields(faults.payload.length > 0 ? 'invalid_payload' : 'invalid_address', fields)
  }
  return {
    ...recipients,
    from: from!,
    replyTo,
    subject,
    html: request.html || undefined,
    text: request.text || contents.text,
    autoText: request.autoText,
    raw,
    attachments: readAttachments(request),
    headers: Object.entries(request.headers),
    tenantId: request.tenantId,
    metadata: Object.keys(request.metadata).length > 0 ? request.metadata : undefined,
    tag: request.tag,
    retryOf,
    original: { from: shownFrom(request.from, from!), replyTo: request.replyTo.join(', ') || undefined },
  }
}

type Refuse = (field: string, message: string) => void

/** As the caller wrote it, unless only a mail program can read that. */
const shownFrom = (given: string, from: Mailbox) => (given === '' || given.includes('=?') ? showMailbox(from) : given)

function withoutEndSpaces(text: string): string {
  let end = text.length
  while (text[end - 1] === ' ') end--
  return text.slice(0, end)
}

function checkSubject(subject: string, refuse: Refuse): void {
  if (subject === '') refuse('subject', 'is required')
  if (subject.length > MESSAGE_LIMITS.subjectCharacters) {
    return void refuse(
      'subject',
      `has ${subject.length} characters; at most ${MESSAGE_LIMITS.subjectCharacters} are allowed`,
    )
  }
  if (hasControls(subject)) refuse('subject', 'holds a line break or another control character')
}

function checkBodies({ html, text }: SendRequest, refuse: Refuse): void {
  if (!html && !text) refuse('html', 'is required when text is missing')
  for (const [field, body] of Object.entries({ html, text })) {
    if (body === undefined) continue
    const bytes = Buffer.byteLength(body)
    if (bytes > MESSAGE_LIMITS.bodyBytes)
      refuse(field, `has ${bytes} bytes; at most ${MESSAGE_LIMITS.bodyBytes} (2 MiB) are allowed`)
    else if (hasBrokenText(body)) refuse(field, 'holds a NUL character or half a surrogate pair')
  }
}

function checkHeaders(headers: Record<string, string>, refuse: Refuse): void {
  const given = Object.entries(headers)
  if (given.length > MESSAGE_LIMITS.headers) {
    refuse('headers', `holds ${given.length} headers; a message has at most ${MESSAGE_LIMITS.headers}`)
    return
  }
  const earlierNames = new Set<string>()
  for (const [name, value] of given) {
    const fault = earlierNames.has(name.toLowerCase()) ? 'is given twice' : headerFault(name, value)
    if (fault) refuse(`headers[${JSON.stringify(name.slice(0, 80))}]`, fault)
    earlierNames.add(name.toLowerCase())
  }
}

function checkTenant(tenantId: string | undefined, refuse: Refuse): void {
  if (tenantId === undefined) return
  const fault = tenantFault(tenantId)
  if (fault) refuse('tenant_id', fault)
}

function checkTag(tag: string | undefined, refuse: Refuse): void {
  const fault = tag === undefined ? undefined : tagFault(tag)
  if (fault) refuse('tag', fault)
}

/** Describes the fault of a tenant id; undefined when it has none. */
export const tenantFault = (tenantId: string): string | undefined =>
  nameFault(tenantId, MESSAGE_LIMITS.tenantIdCharacters)

function readRetryOf(id: string | undefined, refuse: Refuse): string | undefined {
  const retryOf = id === undefined ? undefined : parsePublicId('msg', id)
  if (id !== undefined && retryOf === undefined) refuse('retry_of', 'must be a message_id: msg_ and 26 characters')
  return retryOf
}
