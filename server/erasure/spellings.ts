import { domainToUnicode } from 'node:url'
import { matchingForm, parseMailbox } from '../address.ts'
import type { ErasedFormOf } from '../reputation/erased-form.ts'

/** What stands for a text that is erased as a whole. */
export const ERASED_TEXT = '[erased]'

/** An address that is looked for, and what replaces it. */
export interface Wanted {
  /** In its matching form. */
  email: string
  /** Texts in lower case: what mentions the address holds one of them, as a text or as JSON. */
  needles: string[]
  erased: string
  /** Whether a text is the address, in any spelling, with or without a display name. */
  isIt(text: string): boolean
  mentions(text: string): boolean
  /** Replaces the address wherever it stands in a text. A mailbox of the address also loses its display name. */
  replaceIn(text: string): string
}

// Other addresses may contain this one: `joann@example.com` and `ann@example.com.au` are not `ann@example.com`.
const NO_LOCAL_PART = '(?:(?<![a-z0-9_.+-])|(?<=%[0-9a-f]{2}))'
const NO_LABEL = '(?![a-z0-9-]|\\.[a-z0-9])'

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')

/**
 * An address may be spelled as it is, with its Unicode domain, and as part of a URL.
 *
 * @param email in its matching form
 */
export function wantedAddress(email: string, erasedFormOf: ErasedFormOf): Wanted {
  const at = email.lastIndexOf('@')
  const withUnicode = `${email.slice(0, at)}@${domainToUnicode(email.slice(at + 1))}`
  const spellings = [...new Set([email, withUnicode].flatMap((text) => [text, encodeURIComponent(text).toLowerCase()]))]
  const pattern = new RegExp(`${NO_LOCAL_PART}(?:${spellings.map(escaped).join('|')})${NO_LABEL}`, 'giu')
  const erased = erasedFormOf(email)
  const isIt = (text: string) => {
    const mailbox = parseMailbox(text.trim())
    return mailbox !== undefined && matchingForm(mailbox) === email
  }
  return {
    email,
    needles: [...new Set(spellings.flatMap((text) => [text, JSON.stringify(text).slice(1, -1)]))],
    erased,
    isIt,
    mentions: (text) => text.search(pattern) >= 0,
    replaceIn: (text) => (isIt(text) ? erased : text.replace(pattern, erased)),
  }
}

/** Replaces every string of a JSON value, the names of its fields included. */
export function mapStrings(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map((item) => mapStrings(item, change))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [change(name), mapStrings(item, change)]))
}
