import { providerName } from '../numbers/groups.ts'

const ID = /^(msg|evt)_[0-9a-z]{26}$/i
const DOMAIN = /^(?=.{3,255}$)[^\s@./]+(\.[^\s@./]+)+$/u
const PAIR = /^[\w.-]{1,40}=./
/** Several words, or a number such as that of an order: people write these in subjects rather than in tags. */
const WORDS = /\s|^[#\d]+$/

/** One way to read the text of the search box. */
export interface Reading {
  /** Says what is looked for: `Messages to`. */
  label: string
  /** The value as it is looked for. */
  value: string
  /** The page below the account. */
  place: string
}

/**
 * The ways to read the text of the search box, the most likely first; none for an empty text. An id opens its page. What
 * is around an address or an id, as mail programs and logs write it, is left out.
 */
export function readingsOf(text: string): Reading[] {
  const value = bare(text)
  if (value === '') return []
  const kind = ID.exec(value)?.[1]?.toLowerCase()
  if (kind === 'msg') return [{ label: 'Open message', value, place: `messages/${value.toLowerCase()}` }]
  if (kind === 'evt') return [{ label: 'Open event', value, place: `events/${value.toLowerCase()}` }]
  const tag = messagesBy('Messages with the tag', 'tag', value)
  const subject = /[\p{L}\p{N}]/u.test(value) ? [messagesBy('Messages whose subject has', 'subject', value)] : []
  if (PAIR.test(value)) return [messagesBy('Messages with the metadata', 'metadata', value), ...subject, tag]
  const domain = value.slice(value.lastIndexOf('@') + 1)
  const bounced = bouncedBy(value)
  if (!DOMAIN.test(domain)) return WORDS.test(value) ? [...subject, tag] : [...bounced, tag, ...subject]
  const toDomain = messagesBy('Messages to anyone at', 'recipient_domain', domain)
  return value.includes('@')
    ? [messagesBy('Messages to', 'recipient', value), suppressionsOf(value), toDomain, ...subject, tag]
    : [toDomain, ...bounced, messagesBy('Messages from the domain', 'domain', value), ...subject, tag]
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

/** The messages that a provider bounced, for its name or a domain of its mailboxes: `outlook`, `outlook.com`. */
function bouncedBy(value: string): Reading[] {
  const name = value.toLowerCase().split('.')[0]!
  if (!Object.hasOwn(PROVIDERS, name)) return []
  const provider = PROVIDERS[name]!
  return [{ ...messagesBy('Messages bounced by', 'bounced_by', provider), value: providerName(provider) }]
}

const suppressionsOf = (email: string): Reading => ({
  label: 'Suppressions of',
  value: email,
  place: `suppressions?${new URLSearchParams({ email })}`,
})

const messagesBy = (label: string, filter: string, value: string): Reading => ({
  label,
  value,
  place: `messages?${new URLSearchParams({ [filter]: value })}`,
})

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
