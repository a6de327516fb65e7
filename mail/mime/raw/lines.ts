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

/** Calls `onLine` with each line, in one pass. Returns the first fault, also one that `onLine` returns. */
export function scanLines(content: Buffer, onLine: (line: Line) => string | undefined): string | undefined {
  let start = 0
  let number = 1
  let isEightBit = false
  const { length } = content
  for (let at = 0; at < length; at++) {
    const octet = content[at]!
    // Nearly every octet ends here.
    if (octet > CR && octet <= MAX_ASCII) continue
    if (octet > MAX_ASCII) isEightBit = true
    else if (octet === 0) return `holds a NUL in line ${number}`
    else if (octet === LF) return `holds a line feed without a carriage return, in line ${number}. Lines end with CRLF`
    else if (octet === CR) {
      if (content[at + 1] !== LF) {
        return `holds a carriage return without a line feed, in line ${number}. Lines end with CRLF`
      }
      const fault = lengthFault(at - start, number) ?? onLine({ start, end: at, number, isEightBit })
      if (fault) return fault
      at++
      start = at + 1
      number++
      isEightBit = false
    }
  }
  if (start === length) return undefined
  return lengthFault(length - start, number) ?? onLine({ start, end: length, number, isEightBit })
}

const lengthFault = (length: number, number: number) =>
  length > MAX_LINE ? `has ${length} octets in line ${number}; a line has at most ${MAX_LINE}` : undefined
