// A report begins with its statements, or ends with them, and a copy of the message may be as large as the message.
// Reading keeps the headers and the beginning of each part. The rest goes by, so that a report takes little memory, and
// the time for it is bounded, whatever an attacker writes.

const MAX_BYTES = 192 * 1024
const MAX_LINES = 2_500
/** The limits of each part include its headers. A copy of the message needs little more than its headers. */
const MAX_PART_BYTES = 48 * 1024
const MAX_PART_LINES = 1_200
const MAX_COPY_BYTES = 16 * 1024
const MAX_COPY_LINES = 250
/** The rest of a line is not read. */
const MAX_LINE_BYTES = 4_096
const MAX_BOUNDARIES = 20
const LF = 10
const HYPHEN = 45
const NOTHING = Buffer.alloc(0)

export interface Condenser {
  push(chunk: Buffer): void
  /** The condensed mail. */
  end(): Buffer
  /** How many bytes it holds. */
  bytes(): number
}

/** Condenses a mail of any size while it arrives. What it returns has the structure of the mail. */
export function createCondenser(): Condenser {
  const kept: Buffer[] = []
  const boundaries: string[] = []
  let keptBytes = 0
  let keptLines = 0
  let rest: Buffer = NOTHING
  let isSkippingLine = false
  let part = { bytes: 0, lines: 0, isHeader: true, isCopy: false, isFull: false }
  let header = ''

  function addLine(line: Buffer): void {
    const text = line.toString('latin1').trimEnd()
    if (isBoundary(text)) {
      part = { bytes: 0, lines: 0, isHeader: true, isCopy: false, isFull: false }
      header = ''
      keep(line)
      return
    }
    if (part.isHeader) readHeaderLine(text)
    part.bytes += line.length
    part.lines++
    const [maxBytes, maxLines] = part.isCopy ? [MAX_COPY_BYTES, MAX_COPY_LINES] : [MAX_PART_BYTES, MAX_PART_LINES]
    part.isFull = part.bytes > maxBytes || part.lines > maxLines
    if (!part.isFull) keep(line)
  }

  /** Whether a line goes by unread, told by its first octet: one of a full part that is no boundary. */
  const goesBy = (first: number) => part.isFull && !part.isHeader && first !== HYPHEN

  const isFull = () => keptLines >= MAX_LINES || keptBytes >= MAX_BYTES

  /** The header of a part says how it ends, and whether it is a copy of the message. */
  function readHeaderLine(text: string): void {
    if (text !== '') {
      if (header.length < MAX_LINE_BYTES) header += `${/^[ \t]/.test(text) ? ' ' : '\n'}${text.trim()}`
      return
    }
    part.isHeader = false
    part.isCopy = /^content-type:\s?(?:message\/(?:rfc822|global|global-headers)|text\/rfc822-headers)(?![\w-])/im.test(
      header,
    )
    const [, quoted, bare] =
      /^content-type:\s?multipart\/[^\n]{0,400}?boundary\s?=\s?(?:"([^"\n]{1,200})"|([^\s;]{1,200}))/im.exec(header) ??
      []
    const boundary = quoted ?? bare
    if (boundary !== undefined && boundaries.length < MAX_BOUNDARIES) boundaries.push(boundary)
  }

  function isBoundary(text: string): boolean {
    if (!text.startsWith('--')) return false
    return boundaries.some((boundary) => text === `--${boundary}` || text === `--${boundary}--`)
  }

  function keep(line: Buffer): void {
    if (keptBytes + line.length > MAX_BYTES || keptLines >= MAX_LINES) return
    // A copy: a short line must not keep a large chunk in memory.
    kept.push(Buffer.from(line))
    keptBytes += line.length
    keptLines++
  }

  return {
    push(chunk) {
      let start = 0
      for (let end = chunk.indexOf(LF); end >= 0 && !isFull(); end = chunk.indexOf(LF, start)) {
        if (rest.length > 0) addLine(Buffer.concat([rest, chunk.subarray(start, end + 1)]))
        else if (!isSkippingLine && !goesBy(chunk[start]!)) addLine(chunk.subarray(start, end + 1))
        rest = NOTHING
        isSkippingLine = false
        start = end + 1
      }
      if (isFull()) return
      const open = chunk.subarray(start)
      if (isSkippingLine || open.length === 0) return
      rest = Buffer.concat([rest, open.subarray(0, MAX_LINE_BYTES)])
      if (rest.length < MAX_LINE_BYTES) return
      addLine(Buffer.concat([rest.subarray(0, MAX_LINE_BYTES), Buffer.from('\n')]))
      rest = NOTHING
      isSkippingLine = true
    },
    end() {
      if (rest.length > 0) addLine(rest)
      rest = NOTHING
      return Buffer.concat(kept)
    },
    bytes: () => keptBytes + rest.length,
  }
}

export function condense(mail: Buffer): Buffer {
  const condenser = createCondenser()
  condenser.push(mail)
  return condenser.end()
}
