import { domainToUnicode } from 'node:url'
import { matchingForm, parseMailbox } from '../../mail/address.ts'
import type { ErasedFormOf } from '../reputation/erased-form.ts'
import { belongsToOther } from './neighbours.ts'

/** Replaces a text that is erased as a whole. */
export const ERASED_TEXT = '[erased]'

/** An address that is looked for, and what replaces it. */
export interface Wanted {
  /** In its matching form. */
  address: string
  /** Texts, with A to Z in lower case: what mentions the address holds one of them, as a text, JSON or octets. */
  needles: string[]
  erased: string
  /** Whether a text is the address, in any spelling, with or without a display name. */
  isIt(text: string): boolean
  /** Whether a text mentions the address: `replaceIn` would change it. */
  isIn(text: string): boolean
  /** Replaces the address wherever it occurs in a text. A mailbox of the address also loses its display name. */
  replaceIn(text: string): string
  /** Replaces the address in a text that is a mailbox: as the mailbox itself, its display name or its local part. */
  replaceInMailbox(text: string): string
}

/** As it is, within a URL, and within a URL that is part of another one. */
const ENCODINGS = [
  (text: string) => text,
  (text: string) => encodeURIComponent(text).toLowerCase(),
  (text: string) => encodeURIComponent(encodeURIComponent(text)).toLowerCase(),
]

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')

/** The text as `encode(bytes, 'escape')` of SQL shows its octets. */
const octal = (text: string) =>
  /^[\x00-\x7f]*$/.test(text)
    ? text
    : Buffer.from(text)
        .toString('latin1')
        .replace(/[\x80-\xff]/g, (octet) => `\\${octet.charCodeAt(0).toString(8)}`)

/** A pattern for a text, in which the letters that `letters` finds match in either case, and others only themselves. */
const inEitherCase = (text: string, letters: RegExp) =>
  escaped(text).replace(letters, (letter) => {
    const cases = [letter, letter.toLowerCase(), letter.toUpperCase()].filter((each) => [...each].length === 1)
    return `[${[...new Set(cases)].join('')}]`
  })

const inAsciiCase = (text: string) => inEitherCase(text, /[a-z]/gi)
const inAnyCase = (text: string) => inEitherCase(text, /\p{L}/gu)

/**
 * An address may be spelled as it is, with its Unicode domain, and as part of a URL. URLs encode the `@`, and any other
 * character or not.
 *
 * @param address in its matching form
 */
export function wantedAddress(address: string, erasedFormOf: ErasedFormOf): Wanted {
  const at = address.lastIndexOf('@')
  const [local, domain] = [address.slice(0, at), address.slice(at + 1)]
  const inAnyEncoding = (...texts: string[]) => [
    ...new Set(texts.flatMap((text) => ENCODINGS.map((encode) => encode(text)))),
  ]
  const domains = inAnyEncoding(domain, domainToUnicode(domain))
  const locals = inAnyEncoding(local, local.normalize('NFD'))
  const signs = inAnyEncoding('@')
  const spellings = locals.flatMap((one) => signs.flatMap((sign) => domains.map((other) => one + sign + other)))
  const oneOf = (patterns: string[]) => `(?:${patterns.join('|')})`
  const parts = [locals.map(inAsciiCase), signs.map(inAsciiCase), domains.map(inAnyCase)]
  const pattern = new RegExp(parts.map(oneOf).join(''), 'gu')
  const erased = erasedFormOf(address)
  const isIt = (text: string) => {
    const mailbox = parseMailbox(text.trim())
    return mailbox !== undefined && matchingForm(mailbox) === address
  }
  const isOther = (text: string, found: string, start: number) =>
    belongsToOther({ before: text.slice(0, start), domain, after: text.slice(start + found.length) })
  const replaceIn = (text: string) =>
    isIt(text)
      ? erased
      : text.replace(pattern, (found, start: number) => (isOther(text, found, start) ? found : erased))
  const isIn = (text: string) => {
    if (isIt(text)) return true
    for (const { 0: found, index } of text.matchAll(pattern)) if (!isOther(text, found, index)) return true
    return false
  }
  return {
    address,
    needles: [...new Set(spellings.flatMap((text) => [text, JSON.stringify(text).slice(1, -1), octal(text)]))],
    erased,
    isIt,
    isIn,
    replaceIn,
    replaceInMailbox(text) {
      if (isIt(text)) return erased
      const sign = text.lastIndexOf('@')
      if (sign < 0) return replaceIn(text)
      return replaceIn(text.slice(0, sign)) + text.slice(sign)
    },
  }
}

/** Replaces every string of a JSON value, the names of its fields included. */
export function mapStrings(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map((item) => mapStrings(item, change))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [change(name), mapStrings(item, change)]))
}
