import { hasControls } from '../address.ts'

export const MAX_CUSTOM_HEADERS = 50
/** Characters. */
export const MAX_HEADER_VALUE = 998
/** Characters of the fields of long threads, which hold one Message-ID for each message before. */
export const MAX_REFERENCES = 8_192
const REFERENCES = ['references', 'in-reply-to']
/** No line may exceed 998 characters, and a Message-ID cannot be folded. */
const MAX_MESSAGE_ID = 900

/** Printable ASCII without space and colon (RFC 5322 2.2); 76 leaves room for a value on the first line. */
const NAME = /^[!-9;-~]{1,76}$/

/** Header fields that the message has once and we write, or that only a mail system may write. In lower case. */
const REFUSED = new Set([
  'from',
  'to',
  'cc',
  'bcc',
  'sender',
  'reply-to',
  'subject',
  'date',
  'message-id',
  'return-path',
  'received',
  'dkim-signature',
  'mime-version',
  // Results of checks: filters believe them when a message contains them.
  'authentication-results',
  'received-spf',
  'domainkey-signature',
  // Mail systems take a message with this field for one in a loop, and bounce it.
  'delivered-to',
])

/** The fields of the request that set a header. */
const FIELDS = new Map([
  ...['from', 'to', 'cc', 'bcc', 'subject'].map((name) => [name, name] as const),
  ['reply-to', 'reply_to'],
])

/** Resent-* would name other senders and recipients (RFC 5322 3.6.6); ARC-* is a seal of forwarders (RFC 8617). */
const REFUSED_PREFIX = /^(?:content|resent|arc)-/i

/**
 * The fault in a header of the caller, as the end of a sentence that begins with its name; undefined when there is
 * none.
 */
export function headerFault(name: string, value: string): string | undefined {
  if (!NAME.test(name)) return 'must have a name of 1 to 76 printable ASCII characters without space and colon'
  if (REFUSED.has(name.toLowerCase()) || REFUSED_PREFIX.test(name)) {
    const field = FIELDS.get(name.toLowerCase())
    return `cannot be set by a custom header${field ? `; use the field ${field}` : ''}`
  }
  const isReferences = REFERENCES.includes(name.toLowerCase())
  const most = isReferences ? MAX_REFERENCES : MAX_HEADER_VALUE
  if (value.length > most) return `must be at most ${most} characters long`
  if (/[\r\n]/.test(value)) return 'must not hold a line break'
  if (hasControls(value)) return 'must not hold NUL, another control character or half a surrogate pair'
  if (isReferences && value.split(' ').some((id) => id.length >= MAX_MESSAGE_ID)) {
    return `must have a space at least every ${MAX_MESSAGE_ID} characters, between its Message-IDs`
  }
  return undefined
}
