import { parseMailbox, quote } from '../../mail/address.ts'

const EXAMPLES = 'ann@example.com or Ann Lee <ann@example.com>'
/** A longer text is no address, and is not searched for its fault. */
const MAX_SEARCHED = 998

/** Describes why a text is not the mailbox of its field, and how to write it where that can be known. */
export function addressFault(field: string, text: string): string {
  if (text === '') return field === 'to' ? `is empty. Expected ${EXAMPLES}` : 'is empty; leave it out'
  const fault = text.length <= MAX_SEARCHED && FAULTS.find(({ explains }) => explains(text))
  if (!fault) return `is not an email address the service can use. Expected ${EXAMPLES}`
  return field === 'from' && fault.ofFrom ? fault.ofFrom : fault.message
}

interface Fault {
  explains: (text: string) => boolean
  message: string
  /** The message for a field that takes one address. */
  ofFrom?: string
}

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
    explains: (text) => parseMailbox(text.replace(/(@[A-Za-z0-9-]+)(>?)$/, '$1.example$2')) !== undefined,
    message: `has a domain without a dot. Expected ${EXAMPLES}`,
  },
]

/** Whether commas or semicolons outside of quotes separate addresses. */
function isSeveral(text: string): boolean {
  const parts = text.match(/(?:"(?:[^"\\]|\\.)*"|[^",;])+/g) ?? []
  return parts.length > 1 && parts.every((part) => parseMailbox(part.trim()) !== undefined)
}
