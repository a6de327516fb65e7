// Relaxed canonicalisation (RFC 6376 3.4.2 and 3.4.4): the form that a signature covers, in which runs of spaces and
// empty
// lines at the end do not count.

import { createHash } from 'node:crypto'

/** One header field in relaxed form, without its CRLF. */
export function relaxedField(name: string, body: string): string {
  return `${name.toLowerCase()}:${body.replace(/[\t\r\n ]+/g, ' ').replace(/^ | $/g, '')}`
}

const TAB = 0x09
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20

/** Octets that were read and not hashed yet. They count only when others follow, on the same line or on a later one. */
interface Pending {
  lineEnds: number
  space: boolean
  /** The first half of a line end that was cut into two pieces; anywhere else it is an octet like others. */
  carriageReturn: boolean
}

/** SHA-256 of a body in relaxed form. The pieces may be cut anywhere and are not joined. */
export function relaxedBodyHash(pieces: Iterable<Buffer>): Buffer {
  const hash = createHash('sha256')
  const pending: Pending = { lineEnds: 0, space: false, carriageReturn: false }
  let isEmpty = true
  const add = (octets: Buffer) => {
    if (octets.length > 0) isEmpty = false
    hash.update(octets)
  }
  for (const piece of pieces) {
    const isTight = !pending.space && !pending.carriageReturn && hasNoSpaces(piece)
    for (const octets of isTight ? trim(piece, pending) : [relax(piece, pending)]) add(octets)
  }
  if (pending.carriageReturn) add(release(pending))
  return (isEmpty ? hash : hash.update('\r\n')).digest()
}

/** True for attachments, most octets of a large message: only the line ends after such a piece can change. */
function hasNoSpaces(piece: Buffer): boolean {
  return !piece.includes(SPACE) && !piece.includes(TAB) && piece.at(-1) !== CR
}

function trim(piece: Buffer, pending: Pending): Buffer[] {
  let end = piece.length
  while (end >= 2 && piece[end - 1] === LF && piece[end - 2] === CR) end -= 2
  const hashable = end > 0 ? [release(pending), piece.subarray(0, end)] : []
  pending.lineEnds += (piece.length - end) / 2
  return hashable
}

function release(pending: Pending): Buffer {
  const { lineEnds, space, carriageReturn } = pending
  Object.assign(pending, { lineEnds: 0, space: false, carriageReturn: false })
  return Buffer.from(`${'\r\n'.repeat(lineEnds)}${space ? ' ' : ''}${carriageReturn ? '\r' : ''}`)
}

/** Runs octet by octet, so it works on local variables and handles the usual octet first. */
function relax(piece: Buffer, pending: Pending): Buffer {
  let { lineEnds, space, carriageReturn } = pending
  const out = Buffer.allocUnsafe(piece.length + lineEnds * 2 + 2)
  let length = 0
  for (let at = 0; at < piece.length; at++) {
    const octet = piece[at]!
    if (octet > SPACE && !space && !carriageReturn && lineEnds === 0) {
      out[length++] = octet
      continue
    }
    const isSpace = octet === SPACE || octet === TAB
    if (isSpace && !carriageReturn) {
      space = true
    } else if (octet === CR && !carriageReturn) {
      carriageReturn = true
    } else if (octet === LF && carriageReturn) {
      carriageReturn = false
      space = false
      lineEnds++
    } else {
      for (; lineEnds > 0; lineEnds--) {
        out[length++] = CR
        out[length++] = LF
      }
      if (space) out[length++] = SPACE
      if (carriageReturn) out[length++] = CR
      space = isSpace
      carriageReturn = octet === CR
      if (!isSpace && !carriageReturn) out[length++] = octet
    }
  }
  Object.assign(pending, { lineEnds, space, carriageReturn })
  return out.subarray(0, length)
}
