// The lines of a message that others have built. What passes here cannot end early at any server: CRLF line ends alone,
// no NUL, no line over 998 octets (RFC 5321 4.5.3.1.6).

const LF = 10
const CR = 13
const MAX_ASCII = 127
const MAX_LINE = 998

export interface Line {
  start: number
  /** Without its CRLF. */
  end: number
  /** Beginning with 1. */
  number: number
  isEightBit: boolean
}

/** Ends the scan after this line, without a fault. */
export const LAST = Symbol('the last line')

/**
 * Calls `onLine` with each line after `from`, in one pass. Returns the first fault, also one that `onLine` returns. The
 * same object is every line: a message of empty lines would make one for every two octets.
 */
export function scanLines(
  content: Buffer,
  onLine: (line: Readonly<Line>) => string | typeof LAST | undefined,
  from?: { start: number; number: number },
): string | undefined {
  const line: Line = { start: from?.start ?? 0, end: 0, number: from?.number ?? 1, isEightBit: false }
  const { length } = content
  for (let at = line.start; at < length; at++) {
    const octet = content[at]!
    // Nearly every octet ends here.
    if (octet > CR && octet <= MAX_ASCII) continue
    if (octet > MAX_ASCII) line.isEightBit = true
    else if (octet === 0) return `holds a NUL in line ${line.number}`
    else if (octet === LF) {
      return `holds a line feed without a carriage return, in line ${line.number}. Lines end with CRLF`
    } else if (octet === CR) {
      if (content[at + 1] !== LF) {
        return `holds a carriage return without a line feed, in line ${line.number}. Lines end with CRLF`
      }
      line.end = at
      const end = lengthFault(line) ?? onLine(line)
      if (end !== undefined) return end === LAST ? undefined : end
      at++
      line.start = at + 1
      line.number++
      line.isEightBit = false
    }
  }
  if (line.start === length) return undefined
  line.end = length
  const end = lengthFault(line) ?? onLine(line)
  return end === LAST ? undefined : end
}

const lengthFault = ({ start, end, number }: Line) =>
  end - start > MAX_LINE ? `has ${end - start} octets in line ${number}; a line has at most ${MAX_LINE}` : undefined
