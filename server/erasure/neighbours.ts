import { domainToASCII } from 'node:url'
import { parse } from 'tldts'
import { isSpecialUse } from '../../mail/address.ts'

// Where an address ends in a text. `joann@example.com` and `ann@example.com.au` are not `ann@example.com`, and
// `ann@example.com.txt` is a file about it. Where both are possible, the address counts as mentioned: a text about
// another person that is changed is a smaller harm than an address that stays. Columns of addresses are compared as a
// whole and do not come here.

/**
 * Whether the text around a spelling of an address makes it a part of a longer address, which is that of another
 * person. The domain has no more than A-labels.
 */
export function belongsToOther({ before, domain, after }: Record<'before' | 'domain' | 'after', string>): boolean {
  if (hasLongerDomain(domain, after)) return true
  const [text, last] = splitLast(before.slice(-MOST))
  if (LETTER.test(last)) return true
  // A file may be named `export-ann@example.com.csv`.
  return JOINER.test(last) && LETTER.test(splitLast(text)[1]) && !FILE_ENDING.test(after)
}

/** A domain has no more characters. */
const MOST = 253
const LETTER = /[a-z0-9]/i
/** Joins words of a local part, as in `mary-ann`. Two of them in a row are a dash or the end of a quotation. */
const JOINER = /[._+'-]/
/** What follows an address and is no part of its domain: an extension, or the number of a copy. */
const FILE_ENDING = /^[._-]+[a-z0-9]/i
/** A character within a URL: `%2B` is a plus, and `%252B` is one within a URL within a URL. */
const ENCODED = /%(?:25)*([0-9a-f]{2})$/i

/** Splits off the last character, decoded. */
function splitLast(text: string): [start: string, last: string] {
  const [code, hex] = ENCODED.exec(text) ?? []
  if (code !== undefined) return [text.slice(0, -code.length), String.fromCharCode(Number(`0x${hex}`))]
  return [text.slice(0, -1), text.slice(-1)]
}

const DOMAIN = /^[\p{L}\p{M}\p{N}.-]*/u

/** Whether what follows a domain makes it a longer one: the labels up to one of them are a domain that may exist. */
function hasLongerDomain(domain: string, after: string): boolean {
  let longer = domain
  const [labels = ''] = DOMAIN.exec(after.slice(0, MOST)) ?? []
  for (const [index, label] of labels.split('.').entries()) {
    if (index > 0 && label === '') return false
    longer += index > 0 ? `.${label}` : label
    if (longer !== domain && mayExist(longer)) return true
  }
  return false
}

/** Top-level domains that are better known as the endings of file names. */
const FILES = ['zip', 'mov']

function mayExist(text: string): boolean {
  const name = domainToASCII(text)
  const { isIcann, publicSuffix, isIp } = parse(name)
  return !isIp && (isSpecialUse(name) || (isIcann === true && !FILES.includes(publicSuffix ?? '')))
}
