import { randomFillSync } from 'node:crypto'
import { v7, validate } from 'uuid'

// The API, logs and Temporal use public ids: TypeIDs such as `msg_` + 26 characters. The database has the same ids as
// UUIDv7. Both carry their time of creation, in milliseconds.

export type IdPrefix =
  | 'acc'
  | 'aud'
  | 'bad'
  | 'rfp'
  | 'dom'
  | 'dsp'
  | 'evt'
  | 'ibx'
  | 'imp'
  | 'inv'
  | 'key'
  | 'msg'
  | 'ntc'
  | 'per'
  | 'rkey'
  | 'rpl'
  | 'ses'
  | 'whk'

/** Creates a UUIDv7 with the given time (Unix milliseconds, by the database's clock). RFC 9562 5.7. */
export function newId(atMs: number): string {
  return v7({ msecs: Math.floor(atMs), random: randomOctets() })
}

/** Crockford's Base32: five bits a character, without i, l, o and u. */
export const CROCKFORD = '0123456789abcdefghjkmnpqrstvwxyz'

const POOL = new Uint8Array(16 * 256)
let used = POOL.length

/** Sixteen random octets from the system, fetched for 256 ids at a time: a call for each id costs more than the id. */
function randomOctets(): Uint8Array {
  if (used === POOL.length) {
    randomFillSync(POOL)
    used = 0
  }
  used += 16
  return POOL.subarray(used - 16, used)
}

/** Two characters of Crockford's base32 for each ten bits. */
const PAIRS = [...CROCKFORD].flatMap((first) => [...CROCKFORD].map((second) => first + second))

/**
 * Returns the public id of a UUID, as TypeID writes it. Ten times as fast as TypeID's library: a response has half a
 * dozen ids. The first character holds only three bits.
 */
export function publicId(prefix: IdPrefix, uuid: string): string {
  const hex = uuid.replaceAll('-', '')
  let id = `${prefix}_${PAIRS[Number.parseInt(hex.slice(0, 2), 16)]}`
  for (let at = 2; at < 32; at += 5) {
    const bits = Number.parseInt(hex.slice(at, at + 5), 16)
    id += PAIRS[bits >> 10]! + PAIRS[bits & 1023]!
  }
  return id
}

/** Returns the UUID of a public id; undefined when the text is not a public id with this prefix. */
export function parsePublicId(prefix: IdPrefix, text: string): string | undefined {
  const id = text.slice(prefix.length + 1)
  if (!text.startsWith(`${prefix}_`) || !/^[0-7][0-9a-hjkmnp-tv-z]{25}$/.test(id)) return undefined
  let hex = bitsOf(id.slice(0, 2)).toString(16).padStart(2, '0')
  for (let at = 2; at < 26; at += 4) {
    hex += bitsOf(id.slice(at, at + 4))
      .toString(16)
      .padStart(5, '0')
  }
  const uuid = uuidOf(hex)
  return validate(uuid) ? uuid : undefined
}

/** The number that characters of Crockford's base32 encode. */
const bitsOf = (characters: string): number =>
  [...characters].reduce((bits, character) => bits * 32 + CROCKFORD.indexOf(character), 0)

/** The 16 bytes of a UUID. */
export const bytesOfId = (uuid: string): Buffer => Buffer.from(uuid.replaceAll('-', ''), 'hex')

/** The UUID of 16 bytes. */
export const idOfBytes = (bytes: Buffer): string => uuidOf(bytes.toString('hex'))

const uuidOf = (hex: string): string => hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')

/** The time in a UUIDv7, Unix milliseconds. */
export function timeOfId(uuid: string): number {
  return Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16)
}

/**
 * Replaces the time in an id by another, in Unix milliseconds. `eventIdOf` of server/ledger/event-ids.ts does the same
 * in SQL.
 */
export function idAt(uuid: string, atMs: number): string {
  return firstIdAt(atMs).slice(0, 13) + uuid.slice(13)
}

/** The smallest UUID of a time: the lower bound of all ids created at or after it. */
export function firstIdAt(atMs: number): string {
  const hex = Math.max(0, Math.floor(atMs)).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-0000-0000-000000000000`
}
