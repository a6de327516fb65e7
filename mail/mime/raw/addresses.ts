import { hasWord } from '../encoded-words.ts'

// The fields of addresses in a message that others have built (RFC 5322 3.4). They are read only as far as servers and
// readers could disagree about who is named: separators, groups, and what is inside an address.

export interface AddressList {
  /** Each mailbox without its comments. */
  mailboxes: string[]
  /** How many groups have members, and how many have none, as in `undisclosed-recipients:;`. */
  groups: number
  emptyGroups: number
}

/** Splits a list of addresses; undefined for one with an open quote, comment or angle bracket. */
export function splitAddresses(value: string): AddressList | undefined {
  const list: AddressList = { mailboxes: [], groups: 0, emptyGroups: 0 }
  let text = ''
  let membersBefore: number | undefined
  const endMailbox = () => {
    if (text.trim() !== '') list.mailboxes.push(text.trim())
    text = ''
  }
  for (let at = 0; at < value.length; at++) {
    const character = value[at]!
    const close = CLOSES[character]
    if (character === '(') {
      at = endOfComment(value, at)
      text += ' '
    } else if (close) {
      const end = endOf(value, at, close)
      text += value.slice(at, end + 1)
      at = end
    } else if (character === ':') {
      if (membersBefore !== undefined) return undefined
      text = ''
      membersBefore = list.mailboxes.length
    } else if (character === ',') {
      endMailbox()
    } else if (character === ';') {
      if (membersBefore === undefined) return undefined
      endMailbox()
      if (list.mailboxes.length > membersBefore) list.groups++
      else list.emptyGroups++
      membersBefore = undefined
    } else {
      text += character
    }
    if (at < 0 || at >= value.length) return undefined
  }
  endMailbox()
  return membersBefore === undefined ? list : undefined
}

const CLOSES: Record<string, string> = { '"': '"', '<': '>', '[': ']' }

/** Where the quoted text, angle bracket or literal that opens at `from` closes; past the end when it never does. */
function endOf(value: string, from: number, close: string): number {
  let isQuoted = false
  for (let at = from + 1; at < value.length; at++) {
    const character = value[at]
    if (character === '\\') at++
    else if (character === close && !isQuoted) return at
    else if (character === '"') isQuoted = !isQuoted
  }
  return value.length
}

function endOfComment(value: string, from: number): number {
  let depth = 0
  for (let at = from; at < value.length; at++) {
    const character = value[at]
    if (character === '\\') at++
    else if (character === '(') depth++
    else if (character === ')' && --depth === 0) return at
  }
  return value.length
}

/** Whether an encoded word is inside an address: some readers would decode it to another one. */
export const hasEncodedAddress = (mailbox: string): boolean => hasWord(addressIn(mailbox))

/** Whether the address holds letters beyond ASCII. Its name may. */
export const hasBeyondAscii = (mailbox: string): boolean => !/^[\x00-\x7f]*$/.test(addressIn(mailbox))

function addressIn(mailbox: string): string {
  const open = mailbox.lastIndexOf('<')
  return open < 0 ? mailbox : mailbox.slice(open)
}
