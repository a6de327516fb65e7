import { domainToASCII } from 'node:url'
import { parseLocal, quote } from './local-part.ts'
import { decodeWords, unfoldWords } from './mime/encoded-words.ts'

/** An address that can receive mail (RFC 5321 4.1.2). */
export interface Address {
  /** Quoted only where quotes are necessary, in its original case and in NFC. It may hold letters beyond ASCII. */
  local: string
  /** In lower case, with internationalised labels as A-labels. */
  domain: string
  /** `local@domain`, as in RCPT TO: ASCII, unless `needsSmtpUtf8`. */
  address: string
}

export interface Mailbox extends Address {
  /** The display name: Unicode, without quotes. Absent rather than empty. */
  name?: string
}

/** Octets (RFC 5321 4.5.3.1 and RFC 1035 2.3.4; 254 is a path of 256 without its angle brackets). */
const MAX_ADDRESS = 254
const MAX_LABEL = 63
/** UTF-16 units, including the name. */
const MAX_TEXT = 998
/** The same, with encoded words: a character of three bytes takes nine characters, and each word has a frame. */
const MAX_ENCODED = 12 * MAX_TEXT

const LABEL = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/

/**
 * Parses a bare address. Refuses a display name, a group, a comment, an address literal and a domain of one label.
 * Trims and repairs nothing, but removes needless quotes: `"a"@b` and `a@b` are one mailbox.
 */
export function parseAddress(text: string): Address | undefined {
  if (text.length > MAX_TEXT) return undefined
  const at = text.lastIndexOf('@')
  if (at < 0) return undefined
  const local = parseLocal(text.slice(0, at))
  const domain = parseDomain(text.slice(at + 1))
  if (local === undefined || domain === undefined) return undefined
  const address = `${local}@${domain}`
  return Buffer.byteLength(address) > MAX_ADDRESS ? undefined : { local, domain, address }
}

/**
 * Parses one mailbox, as in every field of addresses: `a@b`, `<a@b>`, `Name <a@b>` or `"Quoted, Name" <a@b>`. Encoded
 * words in the name are decoded; an address has none.
 */
export function parseMailbox(folded: string): Mailbox | undefined {
  if (folded.length > MAX_ENCODED) return undefined
  const text = unfoldWords(folded)
  if (hasControls(text)) return undefined
  if (!text.endsWith('>')) return parseAddress(text)
  // No local part ends in `<`, but a quoted one may contain it. The address starts at the last `<` after which it
  // parses.
  const open = text.search(/<[^<]*>$|<"(?:[^"\\]|\\.)*"@[^<>"]*>$/)
  if (open < 0) return undefined
  const address = parseAddress(text.slice(open + 1, -1))
  const encodedName = parseName(text.slice(0, open).trim())
  if (address === undefined || encodedName === undefined) return undefined
  const decodedName = decodeWords(encodedName)
  const name = decodedName.trim()
  if (name.length + address.address.length > MAX_TEXT || hasControls(decodedName)) return undefined
  return name === '' ? address : { name, ...address }
}

/** The text of a mailbox that `parseMailbox` reads back: `a@b`, `Name <a@b>` or `"Quoted, Name" <a@b>`. */
export function showMailbox({ name, address }: Mailbox): string {
  if (name === undefined) return address
  return `${NEEDS_QUOTES.test(name) ? quote(name) : name} <${address}>`
}

/** The part of an address after its last `@`, as it is spelled there. */
export const domainOf = (address: string): string => address.slice(address.lastIndexOf('@') + 1)

/**
 * The form that all spellings of an address share, for look-ups. In practice no server distinguishes `A@b` from `a@b`.
 */
export function matchingForm({ address }: Address): string {
  return lowerAscii(address)
}

/**
 * Lowers A to Z and no other letter, as the service's SQL does with the collation "C". Beyond ASCII the small letter
 * depends on language and version of Unicode, and two parts of a system that lower differently would lose an address.
 */
export function lowerAscii(text: string): string {
  return /[A-Z]/.test(text) ? text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()) : text
}

/** Whether an address, or a header that shows it, travels only where the server offers SMTPUTF8 (RFC 6531). */
export function needsSmtpUtf8(address: string): boolean {
  return /[^\x00-\x7f]/.test(address)
}

/** The matching form of a text; undefined when the text is not an address. */
export function matchingFormOf(text: string): string | undefined {
  const address = parseAddress(text)
  return address && matchingForm(address)
}

/** Top-level domains without mail in public DNS: nothing sent to them can arrive. */
const SPECIAL_USE = new Set([
  'test', // RFC 6761
  'example',
  'invalid',
  'localhost',
  'local', // RFC 6762
  'onion', // RFC 7686
  'alt', // RFC 9476
  'internal', // reserved by ICANN for private use
  'arpa', // RFC 3172: infrastructure; home.arpa is RFC 8375
])

/** @param domain as in `Address` */
export function isSpecialUse(domain: string): boolean {
  return SPECIAL_USE.has(domain.slice(domain.lastIndexOf('.') + 1))
}

/** Whether a text holds C0, DEL, C1 or half a surrogate pair, none of which an address or a header may hold. */
export function hasControls(text: string): boolean {
  return /\p{Cc}/u.test(text) || !text.isWellFormed()
}

function parseDomain(text: string): string | undefined {
  const ascii = /^[\x00-\x7f]*$/.test(text) ? text.toLowerCase() : toALabels(text)
  if (ascii === undefined) return undefined
  const labels = ascii.split('.')
  if (labels.length < 2 || !labels.every((label) => label.length <= MAX_LABEL && LABEL.test(label))) return undefined
  // A top-level domain of digits only is an address literal without its brackets.
  return /\.\d+$/.test(ascii) ? undefined : ascii
}

/**
 * The URL parser also decodes percent signs and drops invisible characters, so the name must not contain any of them.
 */
function toALabels(text: string): string | undefined {
  if (/[\x00-\x7f]/.test(text.replace(/[A-Za-z0-9.-]/g, '')) || !text.isWellFormed()) return undefined
  // Some scripts use joiners, and the conversion checks their position. Every other invisible character is a disguise.
  if (/[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/u.test(text.replace(/[\u200c\u200d]/g, ''))) return undefined
  return domainToASCII(text) || undefined
}

/** Characters that would make a list, a group or a comment of a name without quotes. */
const NEEDS_QUOTES = /["<>()@,:;\\]/

/** A quoted string, or what is between two of them. */
const WORDS = /"((?:[^"\\]|\\.)*)"|[^"]+/gu

/**
 * The name without quotes, '' when there is none: words, encoded words and quoted strings in any order (RFC 5322
 * 3.2.5).
 * Characters that would make a list, a group or a comment must be quoted.
 */
function parseName(text: string): string | undefined {
  let [name, end] = ['', 0]
  for (const { 0: words, 1: quoted, index } of text.matchAll(WORDS)) {
    if (index !== end || (quoted === undefined && NEEDS_QUOTES.test(words))) return undefined
    name += quoted?.replace(/\\(.)/gu, '$1') ?? words
    end += words.length
  }
  return end === text.length ? name.trim() : undefined
}
