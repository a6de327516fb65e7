import type { MessageSearch } from '../messages/message-filters.ts'
import { providerName } from '../numbers/groups.ts'

const ID = /^(msg|evt)_[0-9a-z]{26}$/i
/** The beginning of a message's id, and its end where the middle is cut. Until the year 3084 they begin with 0. */
const CUT_ID = /^msg_(0[0-9a-hjkmnp-tv-z]{5,24})(?:(?:…|\.{2,3})[0-9a-z]*)?$/i
const DOMAIN = /^(?=.{3,255}$)[^\s@./]+(\.[^\s@./]+)+$/u
/** An address of a mail server, roughly: the service knows whether it is one. */
const IP = /^(\d{1,3}(\.\d{1,3}){3}|[\da-f]*:[\da-f:.]*:[\da-f:.]*)$/i
const PAIR = /^[\w.-]{1,40}=./
/** Several words, or a number such as that of an order: people write these in subjects rather than in tags. */
const WORDS = /\s|^[#\d]+$/
/** The beginning of an address that the service looks for. */
const BEGINNING = { leastOctets: 3, mostOctets: 64 }

/** One way to read the text of the search box. */
export interface Reading {
  /** Says what is looked for: `Messages to`. */
  label: string
  /** The value as it is looked for. */
  value: string
  /** The page below the account. */
  place: string
  /** What is found there, where that can be counted. */
  finds?: { messages: MessageSearch } | { suppressions: string } | { refusedSends: string }
}

/**
 * The ways to read the text of the search box, the most likely first; none for an empty text. An id opens its page. What
 * is around an address or an id, as mail programs and logs write it, is left out.
 *
 * @param metadataKeys the keys that the account's newest messages have: a bare value may be that of each
 */
export function readingsOf(text: string, metadataKeys: readonly string[] = []): Reading[] {
  const value = bare(text)
  if (value === '') return []
  const kind = ID.exec(value)?.[1]?.toLowerCase()
  if (kind === 'msg') return [{ label: 'Open message', value, place: `messages/${value.toLowerCase()}` }]
  if (kind === 'evt') return [{ label: 'Open event', value, place: `events/${value.toLowerCase()}` }]
  const cut = CUT_ID.exec(value)?.[1]
  if (cut) return [messagesBy('Messages whose id begins', timesOfIds(cut.toLowerCase()), value)]
  const tag = messagesBy('Messages with the tag', { tag: value })
  const tenant = messagesBy('Messages of the tenant', { tenant: value })
  const subject = /[\p{L}\p{N}]/u.test(value) ? [messagesBy('Messages whose subject has', { subject: value })] : []
  if (PAIR.test(value)) return [messagesBy('Messages with the metadata', { metadata: value }), ...subject, tag]
  const metadata = /\s/.test(value)
    ? []
    : metadataKeys.map((key) => messagesBy('Messages with the metadata', { metadata: `${key}=${value}` }))
  const at = value.lastIndexOf('@')
  const domain = value.slice(at + 1)
  const isDomain = DOMAIN.test(domain)
  const toDomain = messagesBy('Messages to anyone at', { recipient_domain: domain })
  if (at === 0 && isDomain) return [toDomain]
  if (at > 0 && isDomain) {
    const to = messagesBy('Messages to', { recipient: value })
    const from = messagesBy('Messages from', { sender: value })
    return [to, suppressionsOf(value), refusedSendsTo(value), from, toDomain, ...subject, tag, ...metadata]
  }
  const begins = beginningOf(at < 0 ? value : value.slice(0, at))
  if (at > 0) return [...begins, ...subject, tag, ...metadata]
  if (IP.test(value)) return [messagesBy('Messages bounced by', { bounced_by: value }), ...subject, tag, ...metadata]
  const bounced = bouncedBy(value, isDomain)
  const others = [...begins, ...metadata, tenant]
  if (isDomain)
    return [toDomain, ...bounced, messagesBy('Messages from the domain', { domain: value }), ...subject, tag, ...others]
  return WORDS.test(value) ? [...subject, tag, ...others] : [...bounced, tag, ...subject, ...others]
}

/** The times at which ids with this beginning are made: its first ten characters are a time in milliseconds. */
function timesOfIds(beginning: string): MessageSearch {
  const time = beginning.slice(0, 10)
  const ids = 32 ** (10 - time.length)
  const first = ids * [...time].reduce((sum, letter) => 32 * sum + CROCKFORD.indexOf(letter), 0)
  return { from: new Date(first).toISOString(), to: new Date(first + ids).toISOString() }
}

const CROCKFORD = '0123456789abcdefghjkmnpqrstvwxyz'

function beginningOf(value: string): Reading[] {
  const octets = new TextEncoder().encode(value).length
  const isOne = octets >= BEGINNING.leastOctets && octets <= BEGINNING.mostOctets && !/[@\s\p{Cc}]/u.test(value)
  return isOne ? [messagesBy('Messages to addresses that begin', { recipient: value })] : []
}

/** Mailbox providers by what people call their mailboxes. */
const PROVIDERS: Record<string, string> = {
  apple: 'apple',
  gmail: 'google',
  gmx: 'gmx',
  google: 'google',
  googlemail: 'google',
  hotmail: 'microsoft',
  icloud: 'apple',
  microsoft: 'microsoft',
  outlook: 'microsoft',
  yahoo: 'yahoo',
}

/**
 * The messages that a provider bounced, for its name or a domain of its mailboxes: `outlook`, `outlook.com`. Any other
 * domain may be that of a mail server.
 */
function bouncedBy(value: string, isDomain: boolean): Reading[] {
  const [name = ''] = value.toLowerCase().split('.')
  const provider = Object.hasOwn(PROVIDERS, name) ? PROVIDERS[name] : undefined
  if (provider) return [messagesBy('Messages bounced by', { bounced_by: provider }, providerName(provider))]
  return isDomain ? [messagesBy('Messages bounced by', { bounced_by: value })] : []
}

const refusedSendsTo = (recipient: string): Reading => ({
  label: 'Refused sends to',
  value: recipient,
  place: `refused-sends?${new URLSearchParams({ recipient })}`,
  finds: { refusedSends: recipient },
})

const suppressionsOf = (email: string): Reading => ({
  label: 'Suppressions of',
  value: email,
  place: `suppressions?${new URLSearchParams({ email })}`,
  finds: { suppressions: email },
})

function messagesBy(label: string, search: MessageSearch, value = Object.values(search).join()): Reading {
  return { label, value, place: `messages?${new URLSearchParams({ ...search })}`, finds: { messages: search } }
}

/** `Ann <ann@example.com>`, `mailto:ann@example.com` and `"msg_..."` without what is around the value. */
function bare(text: string): string {
  const inBrackets = /<([^<>\s]+@[^<>\s]+)>\s*$/.exec(text)?.[1] ?? text
  return inBrackets
    .trim()
    .replace(/[,;]+$/, '')
    .replace(/^(["'`])(.*)\1$/, '$2')
    .replace(/^mailto:([^?]*).*$/i, '$1')
    .trim()
}
