import type { Attachment, SendRequest } from '../../gen/verdict/v1/emails_pb.ts'
import { type Address, hasControls, type Mailbox, parseAddress, parseMailbox } from '../address.ts'
import { type FieldFault, failFields } from '../errors.ts'
import { headerFault, MAX_CUSTOM_HEADERS, MAX_HEADER_VALUE } from '../mime/custom-headers.ts'

/** Limits of one message. The gateway limits the request as a whole. */
export const LIMITS = {
  recipients: 50,
  attachments: 10,
  attachmentBytes: 10 * 1024 * 1024,
  filenameCharacters: 1_024,
  bodyBytes: 2 * 1024 * 1024,
  subjectCharacters: 998,
  headers: MAX_CUSTOM_HEADERS,
  headerValueCharacters: MAX_HEADER_VALUE,
  tenantIdCharacters: 128,
  replyTo: 10,
  metadataPairs: 20,
  metadataKeyCharacters: 40,
  metadataValueCharacters: 500,
  metadataBytes: 4_096,
  tagCharacters: 100,
} as const

/** A send request whose every field has been checked. */
export interface Message {
  /** At least one, no two alike. */
  to: Address[]
  from: Mailbox
  replyTo?: Mailbox
  subject: string
  html?: string
  text?: string
  attachments: { filename: string; content: Uint8Array }[]
  headers: [name: string, value: string][]
  tenantId?: string
  /** As the caller wrote them, for Get email. */
  original: { from: string; replyTo?: string }
}

const ADDRESS_HINT = 'is not an email address the service can mail. Expected something like ann@example.com'
const NAME_HINT = 'must be the address alone, without the display name: '
const MAILBOX_HINT = 'is not an email address. Expected ann@example.com or Ann Lee <ann@example.com>'

/**
 * Checks every field of a send and returns the message. Throws all faults at once: `invalid_address` when only
 * addresses have faults, `invalid_payload` otherwise.
 */
export function readMessage(request: SendRequest): Message {
  const payloadFaults: FieldFault[] = []
  const addressFaults: FieldFault[] = []
  const refuse = (field: string, message: string) => void payloadFaults.push({ field, message })

  const to = readRecipients(request.to, refuse, addressFaults)
  const from = readMailbox('from', request.from, refuse, addressFaults)
  const replyTo =
    request.replyTo[0] === undefined ? undefined : readMailbox('reply_to', request.replyTo[0], refuse, addressFaults)
  checkSubject(request.subject, refuse)
  checkBodies(request, refuse)
  checkAttachments(request.attachments, refuse)
  checkHeaders(request.headers, refuse)
  checkTenant(request.tenantId, refuse)

  const fields = [...payloadFaults, ...addressFaults]
  if (fields.length > 0) {
    throw failFields(payloadFaults.length > 0 ? 'invalid_payload' : 'invalid_address', fields)
  }
  return {
    to,
    from: from!,
    replyTo,
    subject: request.subject,
    html: request.html || undefined,
    text: request.text || undefined,
    attachments: request.attachments.map(({ filename, content }) => ({ filename, content: content! })),
    headers: Object.entries(request.headers),
    tenantId: request.tenantId,
    original: { from: request.from, replyTo: request.replyTo[0] },
  }
}

type Refuse = (field: string, message: string) => void

function readRecipients(texts: string[], refuse: Refuse, addressFaults: FieldFault[]): Address[] {
  if (texts.length === 0) refuse('to', 'is required: one recipient address or a list of them')
  if (texts.length > LIMITS.recipients) {
    refuse('to', `holds ${texts.length} addresses; a message has at most ${LIMITS.recipients}`)
    return []
  }
  const distinct = new Map<string, Address>()
  texts.forEach((text, i) => {
    const address = parseAddress(text)
    if (!address) addressFaults.push({ field: texts.length === 1 ? 'to' : `to[${i}]`, message: faultOf(text) })
    else if (!distinct.has(address.address)) distinct.set(address.address, address)
  })
  return [...distinct.values()]
}

/** Describes the fault of a text that is not an address alone. */
function faultOf(text: string): string {
  const mailbox = parseMailbox(text)
  return mailbox ? `${NAME_HINT}${mailbox.address}` : ADDRESS_HINT
}

function readMailbox(field: string, text: string, refuse: Refuse, addressFaults: FieldFault[]): Mailbox | undefined {
  if (text === '') return void refuse(field, field === 'from' ? 'is required' : 'is empty; leave it out instead')
  const mailbox = parseMailbox(text)
  if (!mailbox) addressFaults.push({ field, message: MAILBOX_HINT })
  return mailbox
}

function checkSubject(subject: string, refuse: Refuse): void {
  if (subject === '') refuse('subject', 'is required')
  if (subject.length > LIMITS.subjectCharacters) {
    return void refuse('subject', `has ${subject.length} characters; at most ${LIMITS.subjectCharacters} are allowed`)
  }
  if (hasControls(subject)) refuse('subject', 'holds a line break or another control character')
}

function checkBodies({ html, text }: SendRequest, refuse: Refuse): void {
  if (!html && !text) refuse('html', 'is required when text is missing')
  for (const [field, body] of Object.entries({ html, text })) {
    if (body === undefined) continue
    const bytes = Buffer.byteLength(body)
    if (bytes > LIMITS.bodyBytes) refuse(field, `has ${bytes} bytes; at most ${LIMITS.bodyBytes} (2 MiB) are allowed`)
    else if (hasBrokenText(body)) refuse(field, 'holds a NUL character or half a surrogate pair')
  }
}

const hasBrokenText = (text: string) => text.includes('\0') || !text.isWellFormed()

function checkAttachments(attachments: Attachment[], refuse: Refuse): void {
  if (attachments.length > LIMITS.attachments) {
    return void refuse('attachments', `holds ${attachments.length} files; a message has at most ${LIMITS.attachments}`)
  }
  attachments.forEach(({ filename, content }, i) => {
    if (!content) refuse(`attachments[${i}].content`, 'is required; an empty string is an empty file')
    const fault = filenameFault(filename)
    if (fault) refuse(`attachments[${i}].filename`, fault)
  })
  const bytes = attachments.reduce((sum, { content }) => sum + (content?.length ?? 0), 0)
  if (bytes > LIMITS.attachmentBytes) {
    refuse('attachments', `have ${bytes} bytes together; at most ${LIMITS.attachmentBytes} (10 MiB) are allowed`)
  }
}

function filenameFault(filename: string): string | undefined {
  if (filename === '') return 'is required'
  if (filename.length > LIMITS.filenameCharacters) {
    return `has ${filename.length} characters; at most ${LIMITS.filenameCharacters} are allowed`
  }
  return hasBrokenText(filename) ? 'holds a NUL character or half a surrogate pair' : undefined
}

function checkHeaders(headers: Record<string, string>, refuse: Refuse): void {
  const names = Object.keys(headers)
  if (names.length > LIMITS.headers) {
    refuse('headers', `holds ${names.length} headers; a message has at most ${LIMITS.headers}`)
    return
  }
  const earlierNames = new Set<string>()
  for (const name of names) {
    const fault = earlierNames.has(name.toLowerCase()) ? 'is given twice' : headerFault(name, headers[name]!)
    if (fault) refuse(`headers[${JSON.stringify(name.slice(0, 80))}]`, fault)
    earlierNames.add(name.toLowerCase())
  }
}

function checkTenant(tenantId: string | undefined, refuse: Refuse): void {
  if (tenantId === undefined) return
  const fault = tenantFault(tenantId)
  if (fault) refuse('tenant_id', fault)
}

/** Describes the fault of a tenant id; undefined when it has none. */
export function tenantFault(tenantId: string): string | undefined {
  const { tenantIdCharacters: most } = LIMITS
  if (tenantId !== '' && tenantId.length <= most && !hasControls(tenantId)) return undefined
  return `must be 1 to ${most} printable characters`
}
