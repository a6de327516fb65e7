// Content-transfer-encodings (RFC 2045 6). For any input, the output is ASCII without NUL and has CRLF line ends only,
// no
// line longer than 78 characters and no line end after the last line.

/** A MIME entity (RFC 2045 2.4): its fields, each with its CRLF, and its body, which follows after an empty line. */
export interface Entity {
  fields: string
  body: Buffer[]
}

export interface EncodedText {
  encoding: '7bit' | 'quoted-printable' | 'base64'
  content: Buffer
}

/** The start of every boundary. No line of encoded text begins with `--` and this, so no text can end its part. */
export const BOUNDARY_START = '=_'

/** Encodes a body in the plainest way that survives the journey. Line ends of every kind become CRLF. */
export function encodeText(text: string): EncodedText {
  const given = Buffer.from(text)
  const { isSafe, escaped, bareLineEnds } = survey(given)
  const octets = bareLineEnds === 0 ? given : withCrlf(given, bareLineEnds)
  if (isSafe) return { encoding: '7bit', content: octets }
  // One octet becomes three in quoted-printable, three become four in base64.
  return escaped * 6 > octets.length
    ? { encoding: 'base64', content: encodeBase64(octets) }
    : { encoding: 'quoted-printable', content: encodeQuotedPrintable(octets) }
}

const LONGEST_LINE = 78

/**
 * What a text holds, in one pass. It is safe without anything that mail systems break, strip or mark: long lines,
 * spaces at their ends, dots, `From ` (RFC 2049 3). `escaped`: octets over 126. `bareLineEnds`: line ends that
 * are not CRLF.
 */
function survey(octets: Buffer): { isSafe: boolean; escaped: number; bareLineEnds: number } {
  let isSafe = true
  let escaped = 0
  let bareLineEnds = 0
  const { length } = octets
  for (let at = 0; at < length; at++) {
    const start = at
    if (isMarked(octets, at) || isBoundary(octets, at)) isSafe = false
    let octet = 0
    for (; at < length; at++) {
      octet = octets[at]!
      // Nearly every octet ends here.
      if (octet >= SPACE && octet <= 126) continue
      if (octet === LF || octet === CR) break
      if (octet > 126) escaped++
      else if (octet !== TAB) isSafe = false
    }
    if (at - start > LONGEST_LINE || (at > start && isBlank(octets[at - 1]!))) isSafe = false
    if (at === length) break
    if (octet === CR && octets[at + 1] === LF) at++
    else bareLineEnds++
  }
  return { isSafe: isSafe && escaped === 0, escaped, bareLineEnds }
}

const isBlank = (octet: number) => octet === SPACE || octet === TAB

function withCrlf(octets: Buffer, bareLineEnds: number): Buffer {
  const out = Buffer.allocUnsafe(octets.length + bareLineEnds)
  let length = 0
  for (let at = 0; at < octets.length; at++) {
    const octet = octets[at]!
    if (octet !== LF && octet !== CR) {
      out[length++] = octet
      continue
    }
    out[length++] = CR
    out[length++] = LF
    if (octet === CR && octets[at + 1] === LF) at++
  }
  return out
}

const OCTETS_PER_LINE = 57
/** A chunk is encoded as one string and then cut: one call per line costs three times as much. */
const OCTETS_PER_CHUNK = OCTETS_PER_LINE * 1024

/** Lines of 76 characters with CRLF between them. Takes about 14 ms for 10 MiB, and no memory but the result's. */
export function encodeBase64(content: Uint8Array): Buffer {
  const octets = Buffer.from(content.buffer, content.byteOffset, content.length)
  const lineEnds = Math.max(Math.ceil(octets.length / OCTETS_PER_LINE) - 1, 0)
  const out = Buffer.allocUnsafeSlow(Math.ceil(octets.length / 3) * 4 + lineEnds * 2)
  let length = 0
  for (let start = 0; start < octets.length; start += OCTETS_PER_CHUNK) {
    const chunk = octets.toString('base64', start, start + OCTETS_PER_CHUNK)
    for (let at = 0; at < chunk.length; at += 76) {
      if (length > 0) {
        out[length++] = CR
        out[length++] = LF
      }
      length += out.write(chunk.slice(at, at + 76), length, 'latin1')
    }
  }
  return out
}

const TAB = 0x09
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const DOT = 0x2e
const EQUALS = 0x3d
const FROM = [...Buffer.from('From ')]
const BOUNDARY = [...Buffer.from(`--${BOUNDARY_START}`)]
const HEX = Buffer.from('0123456789ABCDEF')
/** The longest line, without the `=` that breaks it. */
const QP_LINE = 75

/** @param octets with CRLF line ends only */
function encodeQuotedPrintable(octets: Buffer): Buffer {
  const out = Buffer.allocUnsafe(octets.length * 3 + Math.ceil(octets.length / 25) * 3)
  let length = 0
  let column = 0
  for (let at = 0; at < octets.length; at++) {
    const octet = octets[at]!
    if (octet === CR) {
      out[length++] = CR
      out[length++] = LF
      at++
      column = 0
      continue
    }
    const plain = isPlain(octet) && !endsLine(octets, at)
    if (column + (plain ? 1 : 3) > QP_LINE) {
      out[length++] = EQUALS
      out[length++] = CR
      out[length++] = LF
      column = 0
    }
    if (plain && !(column === 0 && isMarked(octets, at))) {
      out[length++] = octet
      column += 1
    } else {
      out[length++] = EQUALS
      out[length++] = HEX[octet >> 4]!
      out[length++] = HEX[octet & 15]!
      column += 3
    }
  }
  return out.subarray(0, length)
}

function isPlain(octet: number): boolean {
  return (octet >= SPACE && octet <= 126 && octet !== EQUALS) || octet === TAB
}

/** True for a space or tab at the end of its line, which relays strip. */
function endsLine(octets: Buffer, at: number): boolean {
  const octet = octets[at]
  return (octet === SPACE || octet === TAB) && (at + 1 === octets.length || octets[at + 1] === CR)
}

/**
 * True where a line must not begin so: `.` (SMTP's end of data) and `From ` (mailbox files add a `>`, which breaks
 * signatures).
 */
function isMarked(octets: Buffer, at: number): boolean {
  return octets[at] === DOT || (octets[at] === FROM[0] && isAt(octets, at, FROM))
}

const isBoundary = (octets: Buffer, at: number) => octets[at] === BOUNDARY[0] && isAt(octets, at, BOUNDARY)

const isAt = (octets: Buffer, at: number, wanted: number[]) => wanted.every((one, i) => octets[at + i] === one)
