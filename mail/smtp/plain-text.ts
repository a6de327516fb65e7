import { domainToASCII } from 'node:url'
import { domainOf } from '../address.ts'

/** What a reply names, as far as we know the names. */
export interface KnownNames {
  /** The address that the reply is about. */
  recipient?: string
  /** Our HELO name, addresses and domains, and the envelope sender. */
  ours?: readonly string[]
}

/** The longest text that is read: several times the longest reply that is stored. */
const MAX_CHARACTERS = 4_096

const URL = /\b(?:https?:\/\/|www\.)[^\s<>"'()]{1,400}/gi
const EMAIL = /[^\s<>@,;:"'()[\]]{1,64}@[\p{L}\p{M}\p{N}._-]{1,253}/giu
/**
 * What a log or a bounce adds to a reply: `relay=[192.0.2.25]` speaks of no relaying, and `(in reply to RCPT TO
 * command)` of no recipient.
 */
const ADDED = /\brelay=[^\s,;]{1,300}|\(in reply to [A-Z ]{3,30} command\)/gi
const IP = /(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w])|(?<![\w:.])(?:[0-9a-f]{1,4}:){2,7}[0-9a-f:.]{0,40}/gi
const TOP_LEVEL =
  '[a-z]{2}|com|net|org|info|biz|edu|gov|mil|int|arpa|cloud|email|online|app|dev|local|lan|internal|example|test|invalid'
// Each label is in one case: the end of `mailbox.If` is the beginning of a sentence, and `MCSpam.sa` is no host.
const HOST = new RegExp(
  `(?<![\\w.-])(?:(?:[a-z0-9_-]{1,63}|[A-Z0-9_-]{1,63})\\.){1,8}(?:${TOP_LEVEL}|[A-Z]{2}|COM|NET|ORG)(?![\\w-])(?:/[^\\s<>"'()]{0,300})?`,
  'g',
)
const BLOCK_LIST_HOST =
  /spamhaus|spamcop|sorbs|barracudacentral|abuseat|uceprotect|surriel|invaluement|mailspike|senderscore|dnsbl|rbl|ipcheck|block-?list|black-?list|talosintelligence|senderbase/i

/** The words for names in plain text. No language has such words. */
export const NAMED = {
  recipient: 'rcptaddr',
  recipientDomain: 'rcptdomain',
  us: 'ourname',
  ourAddress: 'ouraddr',
  address: 'someaddr',
  host: 'somehost',
  ip: 'ipaddr',
  blockList: 'blocklisthost',
} as const

/**
 * The text in lower case without accents and punctuation inside of words, as the patterns of `RULES` expect it: names
 * are replaced by the words of `NAMED`, because `spam@example.com: unknown` is not about spam.
 */
export function plainWords(text: string, names: KnownNames = {}): string {
  return plain(withoutNames(text.slice(0, MAX_CHARACTERS), names))
}

const MARKS = /\p{M}/gu
/** The article of `l'adresse`, `d'utilisateur` and `dell'utente`. */
const ELISION = /(?<![a-z])(?:l|d|un|(?:de|a|ne|su|que)ll)['’](?=[a-z])/g

/** Lower case without accents. `RecipientNotFound`, `recipient_not_found` and `recipient-not-found` are three words. */
export function plain(text: string): string {
  return text
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .normalize('NFKD')
    .replace(MARKS, '')
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .replace(ELISION, '')
    .replace(/['’`´]/g, '')
    .replace(/["“”«»<>()[\]{}_\-–—=*/\\|+~\s]+/g, ' ')
    .trim()
}

function withoutNames(text: string, { recipient = '', ours = [] }: KnownNames): string {
  const recipientAddress = recipient.toLowerCase()
  const recipientDomain = domainOf(recipientAddress)
  const own = new Set(ours.map((name) => name.toLowerCase()).filter((name) => name !== '' && name !== recipientDomain))
  const ownDomains = new Set([...own].map((name) => (name.includes('@') ? domainOf(name) : name)))
  const isOwnHost = (host: string) =>
    host !== recipientDomain && [...ownDomains].some((domain) => host === domain || host.endsWith(`.${domain}`))
  const emailWord = (email: string) => {
    const address = withAsciiDomain(email.toLowerCase().replace(/[.]+$/, ''))
    if (address === recipientAddress) return NAMED.recipient
    return own.has(address) || (isOwnHost(domainOf(address)) && address !== '') ? NAMED.ourAddress : NAMED.address
  }
  const hostWord = (name: string) => {
    const [host = ''] = name.toLowerCase().split('/')
    if (host === recipientDomain) return NAMED.recipientDomain
    if (isOwnHost(host)) return NAMED.us
    return BLOCK_LIST_HOST.test(host) ? NAMED.blockList : NAMED.host
  }
  // A local part such as that of o'brien@example.net, and a new top-level domain, are known only because we know them.
  const known = [...ownDomains, recipientDomain].filter((domain) => domain.includes('.'))
  const knownRecipient = recipientAddress.includes('@') ? [recipientAddress] : []
  return bracketed(text.replace(anyOf(knownRecipient), ` ${NAMED.recipient} `), recipientAddress)
    .replace(ADDED, ' ')
    .replace(URL, (url) => ` ${BLOCK_LIST_HOST.test(url.slice(0, 80)) ? NAMED.blockList : (urlWord(url) ?? '')} `)
    .replace(EMAIL, (email) => ` ${emailWord(email)} `)
    .replace(anyOf(known), (domain) => ` ${hostWord(domain)} `)
    .replace(IP, (ip) => ` ${own.has(ip.toLowerCase()) ? NAMED.us : NAMED.ip} `)
    .replace(HOST, (host) => ` ${hostWord(host)} `)
    .replace(/(?<![\w.-])[\w-]{3,63}(?![\w-])/g, (word) => (own.has(word.toLowerCase()) ? NAMED.us : word))
}

/** Matches these names in any case, and not as a part of a longer name. Never matches without a name. */
function anyOf(names: readonly string[]): RegExp {
  const escaped = names.map((name) => name.replace(/[^\p{L}\p{M}\p{N}]/gu, '\\$&'))
  return escaped.length === 0 ? /(?!)/g : new RegExp(`(?<![\\w.@-])(?:${escaped.join('|')})(?![\\w-]|\\.\\w)`, 'gi')
}

/** Servers show internationalised domains in either form. */
function withAsciiDomain(address: string): string {
  const domain = domainOf(address)
  return /[^\x00-\x7f]/.test(domain) ? `${address.slice(0, -domain.length)}${domainToASCII(domain)}` : address
}

/** A local part alone in brackets or quotes is the recipient: `<ann> unknown`. */
function bracketed(text: string, recipient: string): string {
  const local = recipient.slice(0, Math.max(0, recipient.lastIndexOf('@')))
  if (local === '') return text
  return text.replace(/["'<([]([^\s"'<>()[\]@]{1,64})["'>)\]]/g, (whole, word: string) =>
    word.toLowerCase() === local ? ` ${NAMED.recipient} ` : whole,
  )
}

/** Google says in the address of its page what happened: `?p=NoSuchUser`. */
const urlWord = (url: string) => /[?&]p=([A-Za-z]{4,40})/.exec(url)?.[1]
