import { decode, encode, RECURSION_AVAILABLE } from 'dns-packet'
import fc from 'fast-check'
import { anyCharacter } from './text.ts'

/**
 * Characters that no stored, logged, returned or printed text may contain. Line feeds and tabs are checked separately.
 */
export const HOSTILE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

const PIECES = [
  '\0',
  '\x07\b\v\f',
  '\r',
  '\x1b[31m',
  '\x1b]0;title\x07',
  '\x7f',
  '\x85\x9b31m',
  '\ud83d',
  '\udc00',
  '\u202e\u2066',
  '\u200b\u2060\ufeff',
  '\u2028\u2029',
  '\u{e0041}',
  'plain',
  ' ü 世 🙂 ',
  '\\u0000',
  '"\\',
]

/** Text that contains something hostile more often than by chance. */
export const hostile = fc
  .array(fc.oneof(fc.constantFrom(...PIECES), fc.string({ unit: anyCharacter, maxLength: 8 })), {
    minLength: 1,
    maxLength: 6,
  })
  .map((pieces) => pieces.join(''))

const TYPES = { MX: 15, TXT: 16, CNAME: 5 }

/** A record of the requested name, with these octets as its data. */
export function rawRecord(type: keyof typeof TYPES, data: Uint8Array): Buffer {
  return Buffer.concat([
    Buffer.from([0xc0, 12, 0, TYPES[type], 0, 1, 0, 0, 0, 0, data.length >> 8, data.length & 0xff]),
    data,
  ])
}

/** A resolver's response to a query, with these records. */
export function respond(query: Buffer, ...records: Buffer[]): Buffer {
  const { id, questions } = decode(query)
  const head = encode({ type: 'response', id, flags: RECURSION_AVAILABLE, questions })
  head.writeUInt16BE(records.length, 6)
  return Buffer.concat([head, ...records])
}
