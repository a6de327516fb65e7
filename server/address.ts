import { domainToASCII } from 'node:url'

/** One mailbox that can be mailed (RFC 5321 4.1.2). */
export interface Address {
  /** Quoted only where it must be, its case kept. */
  local: string
  /** In lower case, internationalised labels as A-labels. */
  domain: string
  /** `local@domain`, ASCII, as it goes into RCPT TO. */
  address: string
}

export interface Mailbox extends Address {
  /** Unicode, without its quotes. Absent rather than empty. */
  name?: string
}

/** Octets (RFC 5321 4.5.3.1 and RFC 1035 2.3.4; 254 is a path of 256 without its angle brackets). */
const MAX_LOCAL = 64
const MAX_ADDRESS = 254
const MAX_LABEL = 63
/** UTF-16 units, name included. */
const MAX_TEXT = 998

const DOT_STRING = /^[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]+(?:\.[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]+)*$/
const QUOTED_STRING = /^"((?:[ !#-[\]-~]|\\[ -~])*)"$/
const LABEL = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/

/**
 * One bare address, as in an item of `to`: no display name, group, comment, address literal or single-label domain, ASCII
 * local part. Nothing is trimmed or repaired; only needless quotes go, because `"a"@b` and `a@b` are one mailbox.
 */
export function parseAddress(text: string): Address | undefined {
  if (text.length > MAX_TEXT) return undefined
  const at = text.lastIndexOf('@')
  if (at < 0) return undefined
  const local = parseLocal(text.slice(0, at))
  const domain = parseDomain(text.slice(at + 1))
  if (local === undefined || domain === undefined) return undefined
  const address = `${local}@${domain}`
  return address.length > MAX_ADDRESS ? undefined : { local, domain, address }
}

/** `a@b`, `<a@b>`, `Name <a@b>` or `"Quoted, Name" <a@b>`, one of them, as in `from` and `reply_to`. */
export function parseMailbox(text: string): Mailbox | undefined {
  if (text.length > MAX_TEXT || hasControls(text)) return undefined
  if (!text.endsWith('>')) return parseAddress(text)
  // No local part ends in `<`, and a quoted one may hold it: the address starts at the last `<` after which it parses.
  const open = text.search(/<[^<]*>$|<"(?:[^"\\]|\\.)*"@[^<>"]*>$/)
  if (open < 0) return undefined
  const address = parseAddress(text.slice(open + 1, -1))
  const name = parseName(text.slice(0, open).trim())
  if (address === undefined || name === undefined) return undefined
  return name === '' ? address : { name, ...address }
}

/** What two spellings of one address have in common: the key of look-ups. Servers that tell `A@b` from `a@b` are a legend. */
export function matchingForm({ address }: Address): string {
  return address.toLowerCase()
}

/** The same of a text; undefined when it is no address. */
export function matchingFormOf(text: string): string | undefined {
  const address = parseAddress(text)
  return address && matchingForm(address)
}

/** Top-level domains that are in no public DNS zone with mail: nothing sent there can arrive. */
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

/** C0, DEL, C1 and halves of surrogate pairs: nothing of these travels in an address or a header. */
export function hasControls(text: string): boolean {
  return /\p{Cc}/u.test(text) || !text.isWellFormed()
}

function parseLocal(text: string): string | undefined {
  if (text.length > MAX_LOCAL) return undefined
  if (DOT_STRING.test(text)) return text
  const quoted = QUOTED_STRING.exec(text)?.[1]
  if (quoted === undefined) return undefined
  const bare = quoted.replace(/\\(.)/g, '$1')
  return DOT_STRING.test(bare) ? bare : quote(bare)
}

function parseDomain(text: string): string | undefined {
  const ascii = /^[\x00-\x7f]*$/.test(text) ? text.toLowerCase() : toALabels(text)
  if (ascii === undefined) return undefined
  const labels = ascii.split('.')
  if (labels.length < 2 || !labels.every((label) => label.length <= MAX_LABEL && LABEL.test(label))) return undefined
  // A top-level domain of digits only is an address literal without its brackets.
  return /^\d+$/.test(labels.at(-1)!) ? undefined : ascii
}

/** The URL parser's rules also decode percent signs and drop what cannot be seen: neither may be in the name to begin with. */
function toALabels(text: string): string | undefined {
  if (/[\x00-\x7f]/.test(text.replace(/[A-Za-z0-9.-]/g, '')) || !text.isWellFormed()) return undefined
  // Joiners belong to some scripts and the conversion checks their place; every other invisible character is a disguise.
  if (/[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/u.test(text.replace(/[\u200c\u200d]/g, ''))) return undefined
  return domainToASCII(text) || undefined
}

/** The unquoted name, '' when there is none. Characters that would make it a list, a group or a comment must be quoted. */
function parseName(text: string): string | undefined {
  if (!text.startsWith('"')) return /["<>()@,:;\\]/.test(text) ? undefined : text
  const quoted = /^"((?:[^"\\]|\\.)*)"$/u.exec(text)?.[1]
  return quoted?.replace(/\\(.)/gu, '$1').trim()
}

export function quote(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}
