import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'
import { getPublicSuffix } from 'tldts'

// Tested first: domainToASCII parses like a URL, and drops what follows a slash, and tabs.
const LETTERS_DIGITS = /^[\p{L}\p{M}\p{N}.-]+$/u
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/
/** The longest name (RFC 1035 2.3.4: 255 octets with the lengths of its labels). */
const MAX_CHARACTERS = 253
/** The longest text before its letters are composed. The conversion takes the square of the length. */
const MAX_UNICODE_CHARACTERS = 4 * MAX_CHARACTERS
/** A return path has at most 254 characters (RFC 5321 4.5.3.1.3), of which 49 precede the domain. */
const MAX_SENDING_CHARACTERS = 205

/**
 * The domain name as it is stored and compared: lower case, A-labels, no last dot. Returns undefined when it cannot
 * send mail.
 */
export function readDomainName(text: string): string | undefined {
  const isShort = text.length <= MAX_UNICODE_CHARACTERS
  const name = isShort && LETTERS_DIGITS.test(text) ? domainToASCII(text.replace(/\.$/, '')) : ''
  const labels = name.split('.')
  const isName = labels.length > 1 && name.length <= MAX_CHARACTERS && labels.every((label) => LABEL.test(label))
  return isName && isIP(name) === 0 ? name : undefined
}

/** The name of a domain to send from, as `readDomainName` returns it, or its fault, as the words after "domain". */
export function readSendingDomain(text: string): { name: string } | { fault: string } {
  if (text === '') return { fault: 'is required' }
  const name = readDomainName(text)
  if (name === undefined) return { fault: faultOf(text) }
  if (name.length > MAX_SENDING_CHARACTERS) {
    return { fault: `has ${name.length} characters, and return paths leave room for ${MAX_SENDING_CHARACTERS}` }
  }
  if (getPublicSuffix(name, { allowPrivateDomains: true }) === name) {
    return { fault: `is a public suffix, under which others have their domains. Add your own, such as shop.${name}` }
  }
  return { name }
}

function faultOf(text: string): string {
  if (text.length > MAX_UNICODE_CHARACTERS) return `has more than ${MAX_CHARACTERS} characters`
  if (isIP(text.replace(/^\[|\]$/g, '')) !== 0) return 'is an IP address. Expected a domain name such as example.com'
  if (text.includes('@')) return 'is an email address. Expected only what stands behind the @, such as example.com'
  if (text.includes('://')) return 'is a URL. Expected only the domain name, such as example.com'
  if (text.includes('*')) return 'holds a wildcard. Each domain that sends is added by itself'
  if (text.length > MAX_CHARACTERS) return `has more than ${MAX_CHARACTERS} characters`
  if (!text.replace(/\.$/, '').includes('.')) return 'is a single label. Expected a domain name such as example.com'
  return 'is not a domain name. Expected something like example.com'
}
