import { domainToASCII } from 'node:url'
import { domainOf } from '../address.ts'
import { replaceTraced, type TracedText } from './traced-text.ts'

/** What a reply names, as far as we know the names. */
export interface KnownNames {
  /** The address that the reply is about. */
  recipient?: string
  /** Our HELO name, addresses and domains, and the envelope sender. */
  ours?: readonly string[]
}

/** The longest text that is read: several times the longest reply that is stored. */
const MAX_CHARACTERS = 4_096

const ENTITY = /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(lt|gt|amp|quot|apos|nbsp));/gi
const ENTITIES: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'", nbsp: ' ' }
const URL = /(?:https?:\/\/|\bwww\.)[^\s<>"'()]{1,400}(?<![.,;:!?])/gi
const EMAIL = /[^\s<>@,;:"'()[\]]{1,64}@[\p{L}\p{M}\p{N}._-]{1,253}(?:(?<!\.)|(?=[>)\]]))/giu
const MONTH = '(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}'
/**
 * What a log or a bounce adds to a reply: `relay=[192.0.2.25]` speaks of no relaying, `(in reply to RCPT TO command)`
 * of no recipient, and `Giving up on 192.0.2.25` of no time that is over.
 */
const ADDED = new RegExp(
  [
    '\\brelay=[^\\s,;]{1,300}(?<![.!?])(?: \\[[^\\s\\]]{1,64}\\])?',
    '\\(in reply to [A-Z ]{3,30} command\\)',
    '\\(delivery attempts: \\d{1,6}\\)',
    '#SMTP#',
    '\\bgiving up on [\\w.:[\\]-]{1,260}(?<!\\.)',
    `(?:\\b(?:mon|tue|wed|thu|fri|sat|sun),? )?\\b\\d{1,2} ${MONTH} \\d{4}(?: \\d\\d:\\d\\d(?::\\d\\d)?)?(?: [+-]\\d{4}| gmt| utc)?(?: \\([a-z]{2,5}\\))?`,
    `(?:\\b(?:mon|tue|wed|thu|fri|sat|sun) )${MONTH} {1,2}\\d{1,2} \\d\\d:\\d\\d:\\d\\d(?: [a-z]{2,5})? \\d{4}`,
  ].join('|'),
  'gi',
)
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
export const IS_NAME: ReadonlySet<string> = new Set(Object.values(NAMED))

/**
 * The text in lower case without accents and punctuation inside of words, as the patterns of `RULES` expect it, with
 * the offsets of its characters in the reply. Names are replaced by the words of `NAMED`, because `spam@example.com:
 * unknown` is not about spam. Links are cut, and entities of HTML are decoded.
 */
export function plainText(text: string, names: KnownNames = {}): TracedText {
  return tracedPlain(withoutNames({ text: text.slice(0, MAX_CHARACTERS) }, names))
}

/** What each link names: its host, and the words of its path. */
export const wordsOfLinks = (text: string, names: KnownNames = {}): string[] =>
  (text.slice(0, MAX_CHARACTERS).match(URL) ?? []).map(
    (link) => plainText(link.replace(/^https?:|[/?&=#]+/gi, ' '), names).text,
  )

/** Lower case without accents. `RecipientNotFound`, `recipient_not_found` and `recipient-not-found` are three words. */
export const plain = (text: string): string => tracedPlain({ text }).text.trim()

const MARKS = /\p{M}/gu
/** The article of `l'adresse`, `d'utilisateur` and `dell'utente`. */
const ELISION = /(?<![a-z])(?:l|d|un|qu|s|(?:de|a|ne|su|que)ll)['’](?=[a-z])/g

function tracedPlain(text: TracedText): TracedText {
  const cased = replaceTraced(text, /[a-z](?=[A-Z])/g, ([letter]) => `${letter} `)
  const ascii = replaceTraced(cased, /[^\x00-\x7f]/gu, ([character]) =>
    character.toLowerCase().normalize('NFKD').replace(MARKS, '').replaceAll('ß', 'ss').replace(/[’`´]/g, "'"),
  )
  const lower = { ...ascii, text: ascii.text.toLowerCase() }
  const whole = replaceTraced(
    replaceTraced(lower, ELISION, () => ''),
    /['`]/g,
    () => '',
  )
  return replaceTraced(whole, /["“”«»<>()[\]{}_\-–—=*/\\|+~\s]+/g, ([blank]) => (blank === ' ' ? undefined : ' '))
}

function withoutNames(text: TracedText, { recipient = '', ours = [] }: KnownNames): TracedText {
  const recipientAddress = recipient.toLowerCase()
  const recipientDomain = domainOf(recipientAddress)
  const own = new Set(ours.map((name) => name.toLowerCase()).filter((name) => name !== '' && name !== recipientDomain))
  const ownDomains = new Set([...own].map((name) => (name.includes('@') ? domainOf(name) : name)))
  const isOwnHost = (host: string) =>
    host !== recipientDomain && [...ownDomains].some((domain) => host === domain || host.endsWith(`.${domain}`))
  // Forwarders write our address into one of theirs, as SRS does.
  const isRewritten = (address: string) =>
    [...ownDomains].some(
      (domain) => address.includes(`${domain}=`) || address.includes(`=${domain}@`) || address.includes(`%${domain}@`),
    )
  const emailWord = (email: string) => {
    const address = withAsciiDomain(email.toLowerCase().replace(/[.]+$/, ''))
    if (address === recipientAddress) return NAMED.recipient
    const isOurs = own.has(address) || isOwnHost(domainOf(address)) || isRewritten(address)
    return isOurs ? NAMED.ourAddress : NAMED.address
  }
  const hostWord = (name: string) => {
    const host = name.toLowerCase().replace(/\/.*/s, '')
    if (host === recipientDomain) return NAMED.recipientDomain
    if (isOwnHost(host)) return NAMED.us
    return BLOCK_LIST_HOST.test(host) ? NAMED.blockList : NAMED.host
  }
  // A local part such as that of o'brien@example.net, and a new top-level domain, are known only because we know them.
  const known = [...ownDomains, recipientDomain].filter((domain) => domain.includes('.'))
  const knownRecipient = recipientAddress.includes('@') ? [recipientAddress] : []
  const local = localOf(recipientAddress)
  const ownLocals = new Set([...own].map(localOf))
  const steps: [RegExp, (match: RegExpExecArray) => string | undefined][] = [
    [/[^\S ]/g, () => ' '],
    [ENTITY, ([, decimal, hex, name]) => entity(decimal, hex, name)],
    [anyOf(knownRecipient), () => ` ${NAMED.recipient} `],
    [
      LOCAL_PART,
      ([, word = '']) => {
        if (word.toLowerCase() === local) return ` ${NAMED.recipient} `
        return ownLocals.has(word.toLowerCase()) ? ` ${NAMED.ourAddress} ` : undefined
      },
    ],
    [ADDED, () => ' '],
    // A link says nothing, unless it leads to a list of blocked senders.
    [URL, ([url]) => (BLOCK_LIST_HOST.test(url.slice(0, 80)) ? ` ${NAMED.blockList} ` : ' ')],
    [EMAIL, ([email]) => ` ${emailWord(email)} `],
    [anyOf(known), ([domain]) => ` ${hostWord(domain)} `],
    [IP, ([ip]) => ` ${own.has(ip.toLowerCase()) ? NAMED.us : NAMED.ip} `],
    [HOST, ([host]) => ` ${hostWord(host)} `],
    [/(?<![\w.-])[\w-]{3,63}(?![\w-])/g, ([word]) => (own.has(word.toLowerCase()) ? NAMED.us : undefined)],
  ]
  return steps.reduce((traced, [pattern, by]) => replaceTraced(traced, pattern, by), text)
}

export const localOf = (address: string) => address.slice(0, Math.max(0, address.lastIndexOf('@')))

/** A local part alone in brackets or quotes is the recipient: `<ann> unknown`. */
const LOCAL_PART = /["'<([]([^\s"'<>()[\]@]{1,64})["'>)\]]/g

function entity(decimal?: string, hex?: string, name?: string): string | undefined {
  if (name !== undefined) return ENTITIES[name.toLowerCase()]
  const codePoint = decimal === undefined ? Number(`0x${hex}`) : Number(decimal)
  return codePoint >= 32 && codePoint <= 0x10ffff ? String.fromCodePoint(codePoint) : undefined
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
