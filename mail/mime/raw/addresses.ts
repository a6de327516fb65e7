import { hasWord } from '../encoded-words.ts'

// The fields of addresses in a message that others have built (RFC 5322 3.4). They are read only as far as servers and
// readers could disagree about who is named: separators, groups, and what is inside an address.

export interface AddressList {
  /** Each mailbox without its comments. */
  mailboxes: string[]
  /** Some of the mailboxes are members of a group, or there is an empty one, as in `undisclosed-recipients:;`. */
  hasGroup: boolean
}

/** Splits a list of addresses; undefined for one with an open quote, comment or angle bracket. */
export function splitAddresses(value: string): AddressList | undefined {
  const list: AddressList = { mailboxes: [], hasGroup: false }
  let text = ''
  let isInGroup = false
  const endMailbox = () => {
    if (text.trim() !== '') list.mailboxes.push(text.trim())
    text = ''
  }
  for (let at = 0; at < value.length; at++) {
    const character = value.charAt(at)
    const close = CLOSES[character]
    if (character === '(') {
      at = endOfComment(value, at)
      text += ' '
    } else if (close) {
      const end = endOf(value, at, close)
      text += value.slice(at, end + 1)
      at = end
    } else if (character === ':') {
      if (isInGroup) return undefined
      text = ''
      isInGroup = true
      list.hasGroup = true
    } else if (character === ',') {
      endMailbox()
    } else if (character === ';') {
      if (!isInGroup) return undefined
      endMailbox()
      isInGroup = false
    } else {
      text += character
    }
    if (at < 0 || at >= value.length) return undefined
  }
  endMailbox()
  return isInGroup ? undefined : list
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
