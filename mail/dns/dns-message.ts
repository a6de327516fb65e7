import { randomBytes } from 'node:crypto'
import { SocketAddress } from 'node:net'

// Writes DNS queries and reads responses (RFC 1035 4). No octet of a response is trusted: its lengths must agree with
// each other, and names become printable ASCII. `dns-query.ts` sends and receives the messages.

export type RecordType = 'A' | 'NS' | 'CNAME' | 'PTR' | 'MX' | 'TXT' | 'AAAA' | 'TLSA'

/**
 * Names are in lower case, without the last dot and empty for the root, as a zone file writes them (RFC 1035 5.1): see
 * `escapeOctets`.
 */
export type DnsRecord = { name: string; ttlS: number } & (
  | { type: 'A' | 'AAAA'; address: string }
  | { type: 'NS' | 'CNAME' | 'PTR'; target: string }
  | { type: 'MX'; preference: number; exchange: string }
  /** The strings of the record, joined; each octet is a character (latin1). */
  | { type: 'TXT'; text: string }
  | ({ type: 'TLSA' } & TlsaRecord)
)

/** What a certificate of the TLS server at a name must be (RFC 6698 2.1). */
export interface TlsaRecord {
  usage: number
  selector: number
  matching: number
  /** In hex. */
  data: string
}

export interface DnsResponse {
  rcode: number
  /** The message lacks some answers, and `answers` is empty. */
  isTruncated: boolean
  isAuthoritative: boolean
  offersRecursion: boolean
  /** The server says that it has validated all of the response by DNSSEC (the AD bit, RFC 4035 3.2.3). */
  isAuthenticated: boolean
  answers: DnsRecord[]
}

export interface DnsQuery {
  bytes: Buffer
  hasEdns: boolean
}

interface QueryOptions {
  /** Asks the server to look beyond its own zones. */
  recursion: boolean
  /** Asks for the AD bit (RFC 6840 5.7). */
  dnssec: boolean
  /** Allows answers of up to 1,232 octets over UDP (RFC 6891) instead of 512. */
  edns: boolean
}

const TYPES = { A: 1, NS: 2, CNAME: 5, PTR: 12, MX: 15, TXT: 16, AAAA: 28, TLSA: 52 } satisfies Record<
  RecordType,
  number
>
const TYPE_NAMES = new Map<number, RecordType>(Object.entries(TYPES).map(([name, type]) => [type, name as RecordType]))
const CLASS_IN = 1
const HEADER_OCTETS = 12
/** This size fits into one packet on every network path (DNS flag day 2020). */
const UDP_OCTETS = 1_232
/** RFC 6891 6.1.2: the root, type 41, the size in place of the class, and nothing more. */
const OPT = Buffer.from([0, 0, 41, UDP_OCTETS >> 8, UDP_OCTETS & 0xff, 0, 0, 0, 0, 0, 0])
const MAX_NAME_OCTETS = 255
/** More pointers than a name has labels. Without this limit, a short message could take seconds to read. */
const MAX_POINTERS = 127
/** RFC 1035 4.1.1: the server could not read the question, or does not know its format. */
const FORMERR = 1

const RESPONSE = 0x8000
const AUTHORITATIVE = 0x0400
const TRUNCATED = 0x0200
const RECURSION_DESIRED = 0x0100
const RECURSION_AVAILABLE = 0x0080
const AUTHENTICATED = 0x0020

/**
 * Creates a query for one name in random case. A server repeats the case in its response, so an attacker who cannot see
 * the query must guess it.
 */
export function createQuery(name: string, type: RecordType, { recursion, dnssec, edns }: QueryOptions): DnsQuery {
  const random = randomBytes(2 + name.length)
  const mixed = [...name].map((c, i) => (random.readUInt8(i + 2) & 1 ? c.toUpperCase() : c.toLowerCase())).join('')
  const labels = mixed.split('.').flatMap((label) => [Buffer.from([label.length]), Buffer.from(label, 'latin1')])
  const header = Buffer.alloc(HEADER_OCTETS)
  header.set(random.subarray(0, 2))
  header.writeUInt16BE((recursion ? RECURSION_DESIRED : 0) | (dnssec ? AUTHENTICATED : 0), 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(edns ? 1 : 0, 10)
  const question = [...labels, Buffer.from([0, 0, TYPES[type], 0, CLASS_IN])]
  return { bytes: Buffer.concat([header, ...question, ...(edns ? [OPT] : [])]), hasEdns: edns }
}

/** The first alias (CNAME) among these records. */
export function aliasIn(records: readonly DnsRecord[]): { target: string; ttlS: number } | undefined {
  for (const record of records) if (record.type === 'CNAME') return record
  return undefined
}

/**
 * Reads the response to this query. Returns undefined for any other message, and `malformed` when the answers cannot be
 * read.
 */
export function readResponse(message: Buffer, query: DnsQuery): DnsResponse | 'malformed' | undefined {
  if (message.length < HEADER_OCTETS || message.readUInt16BE(0) !== query.bytes.readUInt16BE(0)) return undefined
  const flags = message.readUInt16BE(2)
  const rcode = flags & 0xf
  if (!(flags & RESPONSE) || !(repeatsQuestion(message, query) || hasUnreadQuestion(message, rcode, query)))
    return undefined
  const isTruncated = (flags & TRUNCATED) !== 0
  const answers = isTruncated || rcode === FORMERR ? [] : readAnswers(message, questionEnd(query))
  if (!answers) return 'malformed'
  return {
    rcode,
    isTruncated,
    isAuthoritative: (flags & AUTHORITATIVE) !== 0,
    offersRecursion: (flags & RECURSION_AVAILABLE) !== 0,
    isAuthenticated: (flags & AUTHENTICATED) !== 0,
    answers,
  }
}

const questionEnd = ({ bytes, hasEdns }: DnsQuery) => bytes.length - (hasEdns ? OPT.length : 0)

function repeatsQuestion(message: Buffer, query: DnsQuery): boolean {
  const question = query.bytes.subarray(HEADER_OCTETS, questionEnd(query))
  return message.readUInt16BE(4) === 1 && question.equals(message.subarray(HEADER_OCTETS, questionEnd(query)))
}

/**
 * A server without EDNS may return a header without the question (RFC 6891 7). The header is accepted as FORMERR, and
 * `queryDns` repeats the query without EDNS.
 */
function hasUnreadQuestion(message: Buffer, rcode: number, { hasEdns }: DnsQuery): boolean {
  return hasEdns && rcode === FORMERR && message.readUInt16BE(4) === 0
}

/** Returns undefined when lengths do not agree. Skips records of types and classes that are never queried. */
function readAnswers(message: Buffer, start: number): DnsRecord[] | undefined {
  const records: DnsRecord[] = []
  let at = start
  for (let left = message.readUInt16BE(6); left > 0; left--) {
    const owner = readName(message, at, message.length)
    if (!owner || owner.end + 10 > message.length) return undefined
    const type = TYPE_NAMES.get(message.readUInt16BE(owner.end))
    const isInternet = message.readUInt16BE(owner.end + 2) === CLASS_IN
    const ttlS = message.readUInt32BE(owner.end + 4)
    const data = owner.end + 10
    at = data + message.readUInt16BE(owner.end + 8)
    if (at > message.length) return undefined
    if (type === undefined || !isInternet) continue
    const value = readData(message, type, data, at)
    if (!value) return undefined
    records.push({ name: owner.name, ttlS, ...value } as DnsRecord)
  }
  return records
}

/** The data from `start` to `end`. Returns undefined for data that is too short or too long for its type. */
function readData(message: Buffer, type: RecordType, start: number, end: number) {
  switch (type) {
    case 'A':
      return end - start === 4 ? { type, address: message.subarray(start, end).join('.') } : undefined
    case 'AAAA':
      return end - start === 16 ? { type, address: ipv6(message.subarray(start, end)) } : undefined
    case 'MX': {
      const exchange = end - start > 2 ? wholeName(message, start + 2, end) : undefined
      return exchange === undefined ? undefined : { type, preference: message.readUInt16BE(start), exchange }
    }
    case 'TXT': {
      const text = readStrings(message, start, end)
      return text === undefined ? undefined : { type, text }
    }
    case 'TLSA':
      return end - start > 3 ? { type, ...readTlsa(message.subarray(start, end)) } : undefined
    default: {
      const target = wholeName(message, start, end)
      return target === undefined ? undefined : { type, target }
    }
  }
}

function readTlsa(octets: Buffer): TlsaRecord {
  const [usage = 0, selector = 0, matching = 0] = octets
  return { usage, selector, matching, data: octets.toString('hex', 3) }
}

function ipv6(octets: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, i) => octets.readUInt16BE(2 * i).toString(16))
  return new SocketAddress({ family: 'ipv6', address: groups.join(':') }).address
}

function readStrings(message: Buffer, start: number, end: number): string | undefined {
  let text = ''
  let at = start
  while (at < end) {
    const next = at + 1 + message[at]!
    if (next > end) return undefined
    text += message.toString('latin1', at + 1, next)
    at = next
  }
  return text
}

function wholeName(message: Buffer, start: number, end: number): string | undefined {
  const owner = readName(message, start, end)
  return owner?.end === end ? owner.name : undefined
}

/** A name (RFC 1035 4.1.4). Its own octets lie before `limit`; its pointers lead to earlier octets only. */
function readName(message: Buffer, start: number, limit: number): { name: string; end: number } | undefined {
  const labels: string[] = []
  let octets = 1
  let pointers = 0
  let end: number | undefined
  for (let at = start; ; ) {
    const bound = end === undefined ? limit : message.length
    const length = message[at]
    if (length === undefined || at >= bound) return undefined
    if (length === 0) return { name: labels.join('.'), end: end ?? at + 1 }
    if (length >= 0xc0) {
      if (at + 2 > bound || ++pointers > MAX_POINTERS) return undefined
      end ??= at + 2
      const target = message.readUInt16BE(at) & 0x3fff
      if (target >= at) return undefined
      at = target
      continue
    }
    octets += 1 + length
    if (length > 63 || at + 1 + length > bound || octets > MAX_NAME_OCTETS) return undefined
    labels.push(labelText(message.toString('latin1', at + 1, at + 1 + length)))
    at += 1 + length
  }
}

const PLAIN_LABEL = /^[a-z0-9_-]+$/

/**
 * The text of a label: lower case, with dots, spaces, backslashes and unprintable octets escaped, so that no name can
 * be mistaken for another or for several names.
 */
function labelText(label: string): string {
  const lower = label.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
  return PLAIN_LABEL.test(lower) ? lower : escapeOctets(lower.replace(/[.\\]/g, '\\$&')).replaceAll(' ', '\\032')
}

/**
 * Takes octets as characters (latin1), and writes all but printable ASCII as zone files do (RFC 1035 5.1): `\000` for
 * NUL.
 */
export function escapeOctets(octets: string): string {
  return octets.replace(/[^\x20-\x7e]/g, (octet) => `\\${String(octet.charCodeAt(0)).padStart(3, '0')}`)
}
