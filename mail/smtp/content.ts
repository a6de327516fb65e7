import { isUtf8 } from 'node:buffer'

/** The content of a message as it travels over the wire, without the final dot. */
export interface WireContent {
  pieces: Buffer[]
  /** It needs BODY=8BITMIME (RFC 6152). */
  isEightBit: boolean
  /** Bytes as RFC 1870 counts them: without the doubled dots. */
  size: number
  /** The header holds octets beyond ASCII, as RFC 6532 allows, so the server must offer SMTPUTF8. */
  hasUtf8Header: boolean
}

const LF = 10
const CR = 13
const DOT = 46
const MAX_ASCII = 127
const STUFFING = Buffer.from('.')

/**
 * Doubles the dot at the start of a line (RFC 5321 4.5.2), across the borders of the pieces, and copies nothing else.
 * Throws on content that must never leave: a bare CR or LF, NUL, a last line without CRLF, a header that is not UTF-8,
 * and a byte over 127 in the body unless the content is declared as 8-bit. Without these, no server can see the end of
 * the message anywhere but at its end.
 */
export function stuffDots(content: readonly Buffer[], isEightBit = false): WireContent {
  const pieces: Buffer[] = []
  let previous = LF
  let returns = 0
  let feeds = 0
  let headerEnd: number | undefined
  let hasUtf8Header = false
  /** The places of the piece and of the last LF in the whole content. */
  let offset = 0
  let lastFeed = -1
  for (const piece of content) {
    let start = 0
    if (previous === LF && piece[0] === DOT) pieces.push(STUFFING)
    for (let i = 0; i < piece.length; i++) {
      const byte = piece[i]!
      // Nearly every byte ends here, and this loop sees all of a message of 10 MB.
      if (byte > CR && byte <= MAX_ASCII) continue
      if (byte === CR) returns++
      if (byte > MAX_ASCII && headerEnd === undefined) hasUtf8Header = true
      else if (byte > MAX_ASCII && isEightBit) continue
      else if (byte === 0 || byte > MAX_ASCII) throw new TypeError(`the content must be 7-bit: found ${byte}`)
      if (byte !== LF) continue
      feeds++
      if (offset + i - lastFeed === 2) headerEnd ??= offset + i
      lastFeed = offset + i
      if ((i > 0 ? piece[i - 1] : previous) !== CR) throw new TypeError('the content has a bare LF')
      if (piece[i + 1] !== DOT) continue
      pieces.push(piece.subarray(start, i + 1), STUFFING)
      start = i + 1
    }
    if (start < piece.length) pieces.push(piece.subarray(start))
    previous = piece.at(-1) ?? previous
    offset += piece.length
  }
  // Each LF has a CR before it, so a further CR is a bare one.
  if (returns !== feeds) throw new TypeError('the content has a bare CR')
  const size = content.reduce((sum, piece) => sum + piece.length, 0)
  if (previous !== LF || size === 0) throw new TypeError('the content must end with CRLF')
  if (hasUtf8Header && !isUtf8(Buffer.concat(content).subarray(0, headerEnd)))
    throw new TypeError('the header must be UTF-8')
  return { pieces, isEightBit, size, hasUtf8Header }
}
