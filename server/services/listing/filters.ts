import { isIPv4, isIPv6, SocketAddress } from 'node:net'
import type { SQL } from 'drizzle-orm'
import { lowerAscii, matchingFormOf } from '../../../mail/address.ts'
import { isLonger } from '../../../net/clean-text.ts'
import { sql } from '../../db/drizzle.ts'
import type { EnumNames } from '../../db/enum-names.ts'
import { EVENT_KINDS, type EventKind } from '../../db/event-kinds.ts'
import { matchingSql, recipientDomainSql } from '../../db/matching-sql.ts'
import { readDomainName } from '../../domains/name.ts'
import { failField, failFields } from '../../errors.ts'
import { isProviderName, sitesOfProvider } from '../../reputation/mailbox-provider.ts'
import { MESSAGE_LIMITS, tenantFault } from '../../sending/message.ts'
import { METADATA_LIMITS, metadataFaults } from '../../sending/metadata.ts'

// The filters of lists, and other fields that several services read.

/** The most characters of the words that a subject must have. */
export const MOST_SUBJECT_CHARACTERS = 200

/** Returns the short name of an enum value. Throws for an unknown value: a gRPC request may carry any number. */
export function readEnum<E extends number>(
  field: string,
  value: E | undefined,
  names: EnumNames<E>,
): string | undefined {
  if (value === undefined) return undefined
  if (!names.has(value)) throw failField(field, `${value} is not a known value`)
  return names.name(value)
}

/** Why a text is not a kind of events. */
export const ONE_OF_KINDS = `must be ${EVENT_KINDS.join(' or ')}`

export const isEventKind = (text: string): text is EventKind => (EVENT_KINDS as readonly string[]).includes(text)

/** Reads the tenant of an entry that is stored. */
export function readTenant(tenantId: string | undefined): string | undefined {
  const fault = tenantId === undefined ? undefined : tenantFault(tenantId)
  if (fault) throw failField('tenant_id', fault)
  return tenantId
}

// A filter may have characters that are refused now: an earlier version stored tenants and tags with them.

export const readTenantFilter = (tenantId: string | undefined, field = 'tenant_id') =>
  readFilter(field, tenantId, MESSAGE_LIMITS.tenantIdCharacters)

export const readTagFilter = (tag: string | undefined, field = 'tag') =>
  readFilter(field, tag, METADATA_LIMITS.tagCharacters)

function readFilter(field: string, text: string | undefined, most: number): string | undefined {
  if (text === undefined || (text !== '' && [...text].length <= most && !/\p{Cc}/u.test(text))) return text
  throw failField(field, `must be 1 to ${most} printable characters`)
}

/** Returns the words of a subject as they are given. Refuses a text without a word, which leaves nothing to find. */
export function readSubjectWords(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  if (isLonger(text, MOST_SUBJECT_CHARACTERS))
    throw failField('subject', `has more than ${MOST_SUBJECT_CHARACTERS} characters`)
  if (!/[\p{L}\p{N}]/u.test(text)) throw failField('subject', 'must have a word: a letter or a digit')
  return text
}

/** Returns the pairs; undefined without any. A pair that no message can have is a fault of the caller. */
export function readMetadataFilter(pairs: Record<string, string>): Record<string, string> | undefined {
  const faults = metadataFaults(pairs)
  if (faults.length > 0) throw failFields('invalid_payload', faults)
  return Object.keys(pairs).length > 0 ? pairs : undefined
}

/** Returns the matching form of an address. */
export function readRecipient(text: string | undefined): string | undefined {
  const form = text === undefined ? undefined : matchingFormOf(text)
  if (text !== undefined && form === undefined) throw failField('recipient', notAnAddress(text))
  return form
}

/** Returns the local part in lower case, and the domain as it is stored. */
export function readSender(text: string | undefined): { local: string; domain: string } | undefined {
  if (text === undefined) return undefined
  const form = matchingFormOf(text)
  if (form === undefined) throw failField('sender', notAnAddress(text))
  const at = form.lastIndexOf('@')
  return { local: form.slice(0, at), domain: form.slice(at + 1) }
}

/** Which recipients a list asks for: an address, all that begin alike, or all of a domain. */
export type SoughtRecipient = { address: string } | { prefix: string } | { domain: string }

/** The beginning of a local part: a shorter one would match most addresses. */
const PREFIX_OCTETS = { least: 3, most: 64 }

/** Reads `ann@example.com`, the beginning of a local part, or `@example.com`. */
export function readSoughtRecipient(text: string | undefined): SoughtRecipient | undefined {
  if (text === undefined) return undefined
  if (text.startsWith('@')) return { domain: readDomain(text.slice(1), 'recipient')! }
  const octets = Buffer.byteLength(text)
  const isPrefix = octets >= PREFIX_OCTETS.least && octets <= PREFIX_OCTETS.most && !/[@\s\p{Cc}]/u.test(text)
  if (isPrefix && text.isWellFormed()) return { prefix: lowerAscii(text) }
  const address = matchingFormOf(text)
  if (address !== undefined) return { address }
  throw failField(
    'recipient',
    `${notAnAddress(text)}. Its beginning, 3 to 64 octets without @, and @example.com are read, too`,
  )
}

/** Whether a column has a recipient that is asked for. A prefix is a range of its index, which is in byte order. */
export function isRecipient(column: string, sought: SoughtRecipient): SQL {
  if ('domain' in sought) return sql`${sql.raw(recipientDomainSql(column))} = ${sought.domain}`
  const form = sql.raw(matchingSql(column))
  if ('address' in sought) return sql`${form} = ${sought.address}`
  return sql`${form} >= ${sought.prefix} and ${form} < ${`${sought.prefix}${LAST_LETTER}`}`
}

const LAST_LETTER = '\u{10ffff}'

/** Why a text is not an address, and how to write one. */
export function notAnAddress(text: string): string {
  const fault = 'is not an email address. Expected something like ann@example.com'
  const isPlus = text.includes(' ') && matchingFormOf(text.replaceAll(' ', '+')) !== undefined
  return isPlus ? `${fault}. In a URL, write "+" as %2B` : fault
}

/** Returns the domain name as it is stored: lower case, A-labels. */
export function readDomain(text: string | undefined, field = 'domain'): string | undefined {
  if (text === undefined) return undefined
  const domain = readDomainName(text)
  if (domain === undefined) throw failField(field, 'is not a domain name. Expected something like example.com')
  return domain
}

/** The mail exchangers of a provider by their sites, or one exchanger by its IP address. */
export type SoughtExchangers = { sites: string[] } | { ip: string }

/** Returns the exchangers of a mailbox provider, or the one with an IP address. */
export function readExchangers(text: string | undefined, field: string): SoughtExchangers | undefined {
  if (text === undefined) return undefined
  // Evidence has the shortest of the many ways to write an IPv6 address.
  if (isIPv6(text)) return { ip: new SocketAddress({ address: text, family: 'ipv6' }).address }
  if (isIPv4(text)) return { ip: text }
  const provider = isProviderName(text) ? text : readDomainName(text)
  if (provider === undefined)
    throw failField(
      field,
      'is not a mailbox provider. Expected a name such as microsoft, or the domain or IP address of a mail exchanger',
    )
  return { sites: sitesOfProvider(provider) }
}
