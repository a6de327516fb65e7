import { isAscii, isUtf8 } from 'node:buffer'

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
const STUFFING = Buffer.from('.')
/** Line ends are searched in strings, which is three times as fast as in buffers. This bounds their memory. */
const SCANNED_BYTES = 65_536
/** Text of more dots is copied: a piece for each of them takes a hundred times its size. */
const MANY_DOTS = 16

/**
 * Doubles the dot at the start of a line (RFC 5321 4.5.2), across the borders of the pieces, and copies little else.
 * Throws on content that must never leave: a bare CR or LF, NUL, a last line without CRLF, a header that is not UTF-8,
 * and a byte over 127 in the body unless the content is declared as 8-bit. Without these, no server can see the end of
 * the message anywhere but at its end.
 */
export function stuffDots(content: readonly Buffer[], isEightBit = false): WireContent {
  const pieces: Buffer[] = []
  const lines = createLineReader()
  for (const piece of content) {
    let start = 0
    const addUntil = (end: number) => {
      if (end > start) pieces.push(piece.subarray(start, end))
      start = end
    }
    for (let at = 0; at < piece.length; at += SCANNED_BYTES) {
      const dots = lines.read(piece.toString('latin1', at, at + SCANNED_BYTES))
      if (dots.length > MANY_DOTS) {
        addUntil(at)
        start = Math.min(at + SCANNED_BYTES, piece.length)
        pieces.push(withDots(piece.subarray(at, start), dots))
        continue
      }
      for (const dot of dots) {
        addUntil(at + dot)
        pieces.push(STUFFING)
      }
    }
    addUntil(piece.length)
  }
  const { size, headerSize } = lines.end()
  const hasUtf8Header = !content.every(isAscii) && checkBeyondAscii(content, { headerSize, isEightBit })
  return { pieces, isEightBit, size, hasUtf8Header }
}

/** A copy in which the dots at these offsets are doubled. */
function withDots(text: Buffer, dots: readonly number[]): Buffer {
  const out = Buffer.allocUnsafeSlow(text.length + dots.length)
  let [length, next] = [0, 0]
  for (let at = 0; at < text.length; at++) {
    if (at === dots[next]) {
      out[length++] = DOT
      next++
    }
    out[length++] = text[at]!
  }
  return out
}

/** Reads text in parts, whose borders may be anywhere. Throws on a bare CR or LF, and on NUL. */
function createLineReader() {
  let size = 0
  let previous = LF
  /** The size of all whole lines. */
  let linesSize = 0
  let headerSize: number | undefined

  /** Returns the offsets of the dots at the start of a line. */
  function read(text: string): number[] {
    if (text.includes('\0')) throw new TypeError('the content has a NUL')
    if (previous === CR && text.charCodeAt(0) !== LF) throw new TypeError('the content has a bare CR')
    const dots = previous === LF && text.charCodeAt(0) === DOT ? [0] : []
    for (let start = 0; start < text.length; ) {
      const [cr, lf] = [text.indexOf('\r', start), text.indexOf('\n', start)]
      const isWhole = lf === 0 ? previous === CR : lf > 0 && cr === lf - 1
      if (!isWhole && cr >= 0 && cr < text.length - 1 && (lf < 0 || cr < lf)) {
        throw new TypeError('the content has a bare CR')
      }
      if (lf < 0) break
      if (!isWhole) throw new TypeError('the content has a bare LF')
      start = lf + 1
      if (size + start - linesSize === EMPTY_LINE) headerSize ??= size + start
      linesSize = size + start
      if (text.charCodeAt(start) === DOT) dots.push(start)
    }
    size += text.length
    previous = text.charCodeAt(text.length - 1)
    return dots
  }

  /** The sizes of the whole text, and of its header with the empty line. The header is all of a text without one. */
  function end(): { size: number; headerSize: number } {
    if (size === 0 || previous !== LF) throw new TypeError('the content must end with CRLF')
    return { size, headerSize: headerSize ?? size }
  }

  return { read, end }
}

/** The size of CRLF. */
const EMPTY_LINE = 2

/** Returns whether the header holds octets beyond ASCII. Throws on those that may not travel. */
function checkBeyondAscii(
  content: readonly Buffer[],
  { headerSize, isEightBit }: { headerSize: number; isEightBit: boolean },
): boolean {
  const parts: Buffer[] = []
  let left = headerSize
  for (const piece of content) {
    parts.push(piece.subarray(0, left))
    if (!isEightBit && !isAscii(piece.subarray(left))) throw new TypeError('the content must be 7-bit')
    left = Math.max(0, left - piece.length)
  }
  const header = Buffer.concat(parts)
  if (!isUtf8(header)) throw new TypeError('the header must be UTF-8')
  return !isAscii(header)
}
