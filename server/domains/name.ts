import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'

// Asked first: domainToASCII reads as a URL does, and drops what follows a slash, or a tab.
const LETTERS_DIGITS = /^[\p{L}\p{M}\p{N}.-]+$/u
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/** A domain name in the form it is stored and compared in: lower case, A-labels, no last dot. undefined when it cannot send mail. */
export function readDomainName(text: string): string | undefined {
  const name = LETTERS_DIGITS.test(text) ? domainToASCII(text.replace(/\.$/, '')) : ''
  const labels = name.split('.')
  const known = labels.length > 1 && name.length <= 253 && labels.every((label) => LABEL.test(label))
  return known && isIP(name) === 0 ? name : undefined
}
