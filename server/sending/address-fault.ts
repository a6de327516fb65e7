import { hasControls, parseMailbox } from '../../mail/address.ts'
import { MAX_LOCAL, quote } from '../../mail/local-part.ts'
import { decodeWords, unfoldWords } from '../../mail/mime/encoded-words.ts'

const EXAMPLES = 'ann@example.com or Ann Lee <ann@example.com>'
/** A longer text is no address, and is not searched for its fault. */
const MAX_SEARCHED = 998

/** Describes why a text is not the mailbox of its field, and how to write it where that can be known. */
export function addressFault(field: string, text: string): string {
  if (text === '') return field === 'to' ? `is empty. Expected ${EXAMPLES}` : 'is empty; leave it out'
  const fault = text.length <= MAX_SEARCHED && FAULTS.find(({ explains }) => explains(text))
  if (!fault) return `is not an email address the service can use. Expected ${EXAMPLES}`
  if (field === 'from' && fault.ofFrom) return fault.ofFrom
  return typeof fault.message === 'string' ? fault.message : fault.message(text)
}

interface Fault {
  explains: (text: string) => boolean
  message: string | ((text: string) => string)
  /** The message for a field that takes one address. */
  ofFrom?: string
}

const HIDDEN = /[\p{C}\p{Default_Ignorable_Code_Point}\ufffd]/gu

const FAULTS: Fault[] = [
  {
    explains: isSeveral,
    message: 'holds several addresses. Give them as a list of strings',
    ofFrom: 'holds several addresses. A message has one sender',
  },
  {
    explains: (text) =>
      parseMailbox(text.replace(/^(.*\S)(\s*<[^<]*>)$/, (_, name, rest) => quote(name) + rest)) !== undefined,
    message: 'has a name that needs quotes, such as "Lee, Ann" <ann@example.com>',
  },
  {
    explains: hasControlsInName,
    message: 'has a name that holds a line break or another control character',
  },
  {
    explains: (text) => localOctets(text) > MAX_LOCAL && parseMailbox(text.replace(LOCAL, 'a')) !== undefined,
    message: (text) => `has ${localOctets(text)} octets before its @, and ${MAX_LOCAL} are the most`,
  },
  {
    explains: (text) => quotedLocal(text) !== undefined,
    message: (text) => `has a local part that needs quotes: write ${quotedLocal(text)}`,
  },
  {
    explains: (text) => parseMailbox(text.replace(/(@[A-Za-z0-9-]+)(>?)$/, '$1.example$2')) !== undefined,
    message: `has a domain without a dot. Expected ${EXAMPLES}`,
  },
  {
    explains: (text) => parseMailbox(text.replaceAll(HIDDEN, '')) !== undefined,
    message: 'has a character that hides or reorders text, which no address may hold',
  },
]

/** What is before the last `@`, behind a name if there is one. */
const LOCAL = /[^<\s]+(?=@[^@]*$)/

const localOctets = (text: string) => Buffer.byteLength(LOCAL.exec(text)?.[0] ?? '')

/** An encoded word can hide a line break. */
function hasControlsInName(text: string): boolean {
  const name = /^(.*)<[^<]*>$/s.exec(text)?.[1]
  return name !== undefined && !hasControls(unfoldWords(name)) && hasControls(decodeWords(name))
}

/** The mailbox with quotes around a local part such as `ann..lee` or `ann.`, which some old providers gave out. */
function quotedLocal(text: string): string | undefined {
  const quoted = text.replace(/([A-Za-z0-9!#$%&'*+\-/=?^_`{|}~.]+)(@[^@<>]+>?)$/, '"$1"$2')
  return parseMailbox(quoted) === undefined ? undefined : quoted
}

/** Whether commas or semicolons outside of quotes separate addresses. */
function isSeveral(text: string): boolean {
  const parts = text.match(/(?:"(?:[^"\\]|\\.)*"|[^",;])+/g) ?? []
  return parts.length > 1 && parts.every((part) => parseMailbox(part.trim()) !== undefined)
}
