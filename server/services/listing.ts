import { createHash } from 'node:crypto'
import { isIPv4, isIPv6, SocketAddress } from 'node:net'
import type { DescMessage, MessageShape } from '@bufbuild/protobuf'
import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt'
import type { SQL } from 'drizzle-orm'
import { lowerAscii, matchingFormOf } from '../../mail/address.ts'
import { isLonger } from '../../net/clean-text.ts'
import type { DatabaseClock } from '../db/clock.ts'
import { sql } from '../db/drizzle.ts'
import type { EnumNames } from '../db/enum-names.ts'
import { EVENT_KINDS, type EventKind } from '../db/event-kinds.ts'
import { bytesOfId, idOfBytes } from '../db/ids.ts'
import { matchingSql, recipientDomainSql } from '../db/matching-sql.ts'
import { type IdRange, pageRange } from '../db/newest-rows.ts'
import { oldestKeptId } from '../db/retention.ts'
import { readDomainName } from '../domains/name.ts'
import { failFields } from '../errors.ts'
import { isProviderName, sitesOfProvider } from '../reputation/mailbox-provider.ts'
import { MESSAGE_LIMITS, tenantFault } from '../sending/message.ts'
import { METADATA_LIMITS, metadataFaults } from '../sending/metadata.ts'
import { requestBytes } from '../sending/request-bytes.ts'
import { parseTime, timeFault } from '../time-text.ts'

// What all lists of the API share: filters, pages of 1 to 100 rows, and a cursor that leads from one page to the next.

const DEFAULT_LIMIT = 50
export const MAX_LIMIT = 100
/** The most characters of the words that a subject must have. */
export const MOST_SUBJECT_CHARACTERS = 200
/** The last millisecond of the year 9999. */
const MAX_TIME_MS = 253_402_300_799_999

export function readLimit(limit: number = DEFAULT_LIMIT, most = MAX_LIMIT): number {
  if (limit >= 1 && limit <= most) return limit
  throw refuse('limit', `must be a whole number from 1 to ${most}`)
}

/** Returns the short name of an enum value. Throws for an unknown value: a gRPC request may carry any number. */
export function readEnum<E extends number>(
  field: string,
  value: E | undefined,
  names: EnumNames<E>,
): string | undefined {
  if (value === undefined) return undefined
  if (!names.has(value)) throw refuse(field, `${value} is not a known value`)
  return names.name(value)
}

/** Why a text is not a kind of events. */
export const ONE_OF_KINDS = `must be ${EVENT_KINDS.join(' or ')}`

export const isEventKind = (text: string): text is EventKind => (EVENT_KINDS as readonly string[]).includes(text)

/** Reads the tenant of an entry that is stored. */
export function readTenant(tenantId: string | undefined): string | undefined {
  const fault = tenantId === undefined ? undefined : tenantFault(tenantId)
  if (fault) throw refuse('tenant_id', fault)
  return tenantId
}

// A filter may have characters that are refused now: an earlier version stored tenants and tags with them.

export const readTenantFilter = (tenantId: string | undefined, field = 'tenant_id') =>
  readFilter(field, tenantId, MESSAGE_LIMITS.tenantIdCharacters)

export const readTagFilter = (tag: string | undefined, field = 'tag') =>
  readFilter(field, tag, METADATA_LIMITS.tagCharacters)

function readFilter(field: string, text: string | undefined, most: number): string | undefined {
  if (text === undefined || (text !== '' && [...text].length <= most && !/\p{Cc}/u.test(text))) return text
  throw refuse(field, `must be 1 to ${most} printable characters`)
}

/** Returns the words of a subject as they are given. Refuses a text without a word, which leaves nothing to find. */
export function readSubjectWords(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  if (isLonger(text, MOST_SUBJECT_CHARACTERS))
    throw refuse('subject', `has more than ${MOST_SUBJECT_CHARACTERS} characters`)
  if (!/[\p{L}\p{N}]/u.test(text)) throw refuse('subject', 'must have a word: a letter or a digit')
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
  if (text !== undefined && form === undefined) throw refuse('recipient', notAnAddress(text))
  return form
}

/** Returns the local part in lower case, and the domain as it is stored. */
export function readSender(text: string | undefined): { local: string; domain: string } | undefined {
  if (text === undefined) return undefined
  const form = matchingFormOf(text)
  if (form === undefined) throw refuse('sender', notAnAddress(text))
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
  throw refuse(
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
  if (domain === undefined) throw refuse(field, 'is not a domain name. Expected something like example.com')
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
    throw refuse(
      field,
      'is not a mailbox provider. Expected a name such as microsoft, or the domain or IP address of a mail exchanger',
    )
  return { sites: sitesOfProvider(provider) }
}

/** Returns a time in Unix milliseconds. */
export function readTime(field: string, time: Timestamp | undefined): number | undefined {
  if (!time) return undefined
  const isWhole = time.nanos >= 0 && time.nanos < 1e9
  return knownTime(field, isWhole ? timestampMs(time) : Number.NaN)
}

/** Returns the time of a text in Unix milliseconds. */
export function readTimeText(field: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const ms = parseTime(text)
  if (ms === undefined) throw refuse(field, timeFault(text))
  return knownTime(field, ms)
}

function knownTime(field: string, ms: number): number {
  if (ms >= 0 && ms <= MAX_TIME_MS) return ms
  throw refuse(field, 'must be a time from 1970 to 9999')
}

/** Refuses times in the wrong order. Equal ones are a range that holds nothing. */
export function refuseReversed(fromMs: number | undefined, toMs: number | undefined, prefix = ''): void {
  if (fromMs === undefined || toMs === undefined || fromMs <= toMs) return
  throw refuse(`${prefix}from`, `is after ${prefix}to, which is ${new Date(toMs).toISOString()}`)
}

// A cursor is the last id of its page and a digest that binds it to the filters. A cursor of another query is refused,
// because its page would have gaps.

const DIGEST_BYTES = 8

interface Page {
  limit?: number
  cursor?: string
}

/**
 * Returns a page of rows and the cursor to the next one. `rows` must hold one row more than `limit` if there is one, or
 * the search has `stoppedAt` an id: then the next page goes on there.
 */
export function pageOf<Row extends { id: string }, Desc extends DescMessage>(
  rows: Row[],
  limit: number,
  desc: Desc,
  request: MessageShape<Desc> & Page,
  stoppedAt?: string,
): { page: Row[]; hasMore: boolean; nextCursor: string | undefined } {
  const page = rows.slice(0, limit)
  const next = rows.length > limit ? page.at(-1)!.id : stoppedAt
  return { page, hasMore: next !== undefined, nextCursor: next && makeCursor(next, desc, request) }
}

function makeCursor<Desc extends DescMessage>(id: string, desc: Desc, request: MessageShape<Desc> & Page): string {
  const bytes = bytesOfId(id)
  return Buffer.concat([bytes, cursorDigest(bytes, desc, request)]).toString('base64url')
}

/** The id after which the page begins; undefined for the first page. */
export function readCursor<Desc extends DescMessage>(
  desc: Desc,
  request: MessageShape<Desc> & Page,
): string | undefined {
  if (request.cursor === undefined) return undefined
  const raw = Buffer.from(request.cursor, 'base64url')
  const bytes = raw.subarray(0, -DIGEST_BYTES)
  // The decoder skips characters that are not base64url. Only a cursor that encodes back to itself is one of ours.
  const isOurs = raw.toString('base64url') === request.cursor
  if (!isOurs || bytes.length !== 16 || !raw.subarray(-DIGEST_BYTES).equals(cursorDigest(bytes, desc, request))) {
    throw refuse(
      'cursor',
      'is not a next_cursor of these filters. Take it from the page before, or leave it out to start anew',
    )
  }
  return idOfBytes(bytes)
}

interface PageInTime extends Page {
  from?: Timestamp
  to?: Timestamp
}

/** Returns the ids that a page of history can hold: those between its times and after its cursor. */
export function readRange<Desc extends DescMessage>(
  desc: Desc,
  request: MessageShape<Desc> & PageInTime,
  clock: DatabaseClock,
): IdRange {
  const fromMs = readTime('from', request.from)
  const toMs = readTime('to', request.to)
  refuseReversed(fromMs, toMs)
  return pageRange({
    oldest: oldestKeptId(clock),
    nowMs: clock.now(),
    fromMs,
    toMs,
    after: readCursor(desc, request),
  })
}

function cursorDigest<Desc extends DescMessage>(id: Buffer, desc: Desc, request: MessageShape<Desc> & Page): Buffer {
  const filters = requestBytes(desc, { ...request, cursor: undefined, limit: undefined })
  const hash = createHash('sha256').update(id).update(desc.typeName).update(filters)
  return hash.digest().subarray(0, DIGEST_BYTES)
}

export function refuse(field: string, message: string) {
  return failFields('invalid_payload', [{ field, message }])
}
