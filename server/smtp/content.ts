/** The content of a message as it goes over the wire, without the final dot. */
export interface WireContent {
  pieces: Buffer[]
  size: number
}

const LF = 10
const CR = 13
const DOT = 46
const STUFFING = Buffer.from('.')

/**
 * Doubles the dot at the start of a line (RFC 5321 4.5.2), across the borders of the pieces; what needs no dot is not copied.
 * Throws on what must never leave: a bare CR or LF, NUL, a byte over 127, a last line without CRLF. With those out, no
 * server can see the end of the message anywhere but at its end.
 */
export function stuffDots(content: readonly Buffer[]): WireContent {
  const pieces: Buffer[] = []
  let size = 0
  let previous = LF
  for (const piece of content) {
    let start = 0
    for (let i = 0; i < piece.length; i++) {
      const byte = piece[i]!
      if ((byte === LF) !== (previous === CR) || byte === 0 || byte > 127) refuse(previous, byte)
      if (byte === DOT && previous === LF) {
        pieces.push(piece.subarray(start, i), STUFFING)
        start = i
        size++
      }
      previous = byte
    }
    pieces.push(piece.subarray(start))
    size += piece.length
  }
  if (previous !== LF || size === 0) throw new TypeError('the content must end with CRLF')
  return { pieces: pieces.filter((piece) => piece.length > 0), size }
}

function refuse(previous: number, byte: number): never {
  throw new TypeError(`the content must be 7-bit text with CRLF line ends: found ${previous}, ${byte}`)
}
