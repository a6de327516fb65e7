import { createHash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

// An API key: `svc_live_` or `svc_test_`, 43 characters of base62 (32 random bytes), 6 of checksum. In an installation
// that is a cell, the first 2 of the 43 are the name of the cell (cell.ts).

export type KeyKind = 'live' | 'test'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const BODY_CHARACTERS = 43
const CHECKSUM_CHARACTERS = 6
const HINT_CHARACTERS = 13
const SHAPE = /^svc_(live|test)_[0-9A-Za-z]{49}$/

/** `cell` is the name of the installation's cell; empty when it is none. */
export function makeKey(kind: KeyKind, cell = ''): string {
  const random = base62(BigInt(`0x${randomBytes(32).toString('hex')}`), BODY_CHARACTERS)
  return withChecksum(`svc_${kind}_${cell}${random.slice(cell.length)}`)
}

/** Whether a text can be the name of a cell. */
export const isCellName = (text: string) => /^[0-9A-Za-z]{2}$/.test(text)

/**
 * The kind of an API key; undefined for a text that `makeKey` cannot have made: mistyped, cut off, or no key at all.
 */
export function kindOfKey(text: string): KeyKind | undefined {
  const kind = SHAPE.exec(text)?.[1] as KeyKind | undefined
  return kind && withChecksum(text.slice(0, -CHECKSUM_CHARACTERS)) === text ? kind : undefined
}

/** Whether a text has the length and the characters of a key, whatever its checksum. */
export const hasShapeOfKey = (text: string) => SHAPE.test(text)

/** SHA-256. A key has 256 random bits, so it needs no slower hash. */
export function hashKey(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}

/** The first characters of a key, by which a person recognises it: four random ones, after the name of a cell. */
export function hintOfKey(key: string, cell = ''): string {
  return key.slice(0, HINT_CHARACTERS + cell.length)
}

/** Appends a CRC-32, which detects every single wrong character and every swap of two neighbours. */
function withChecksum(text: string): string {
  return text + base62(BigInt(crc32(text)), CHECKSUM_CHARACTERS)
}

function base62(number: bigint, characters: number): string {
  let digits = ''
  for (let rest = number; digits.length < characters; rest /= 62n) digits = BASE62[Number(rest % 62n)] + digits
  return digits
}
