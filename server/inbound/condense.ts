import { createDelimiters } from '../../mail/mime/delimiters.ts'

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
/** The price of a part to its reader, in lines, and the most pieces of base64 with padding of their own. */
const LINES_OF_PART = 4
const MAX_PADDED = 200
const LF = 10
const SPACE = 32
const HYPHEN = 45
const EQUALS = 61
const LINE_OF_HYPHEN = Buffer.from('\n-')
const LINE_END = Buffer.from('\n')
const NOTHING = Buffer.alloc(0)

/** Condenses a mail of any size while it arrives. What it returns has the structure of the mail. */
export class Condenser {
  readonly #kept: Buffer[] = []
  readonly #boundaries = createDelimiters<true>()
  #boundariesLeft = MAX_BOUNDARIES
  #keptBytes = 0
  #keptLines = 0
  /** A line did not fit: what comes after it would be read as what it is not. */
  #isCut = false
  #rest: Buffer = NOTHING
  #isSkippingLine = false
  #part = emptyPart()

  push(chunk: Buffer): void {
    let start = 0
    for (let end = chunk.indexOf(LF); end >= 0 && !this.#isFull(); end = chunk.indexOf(LF, start)) {
      if (this.#rest.length > 0) this.#addLine(Buffer.concat([this.#rest, chunk.subarray(start, end + 1)]))
      else if (!this.#isSkippingLine) this.#addLine(chunk.subarray(start, end + 1))
      this.#rest = NOTHING
      this.#isSkippingLine = false
      start = this.#afterUnread(chunk, end + 1)
    }
    if (this.#isFull()) return
    const open = chunk.subarray(start)
    if (this.#isSkippingLine || open.length === 0) return
    this.#rest = Buffer.concat([this.#rest, open.subarray(0, MAX_LINE_BYTES)])
    if (this.#rest.length < MAX_LINE_BYTES) return
    this.#addLine(Buffer.concat([this.#rest, LINE_END]))
    this.#rest = NOTHING
    this.#isSkippingLine = true
  }

  /** The condensed mail. */
  end(): Buffer {
    if (this.#rest.length > 0) this.#addLine(this.#rest)
    this.#rest = NOTHING
    return Buffer.concat(this.#kept)
  }

  /** How many bytes it holds. */
  bytes(): number {
    return this.#keptBytes + this.#rest.length
  }

  #addLine(whole: Buffer): void {
    const line = whole.length > MAX_LINE_BYTES ? Buffer.concat([whole.subarray(0, MAX_LINE_BYTES), LINE_END]) : whole
    if (this.#isBoundary(line, 0, line.length)) {
      this.#part = emptyPart()
      this.#keep(line)
      this.#keptLines += LINES_OF_PART - 1
      return
    }
    const part = this.#part
    if (part.isHeader) this.#addBoundary(readHeaderLine(part, line))
    part.bytes += line.length
    part.lines++
    const [maxBytes, maxLines] = part.isCopy ? [MAX_COPY_BYTES, MAX_COPY_LINES] : [MAX_PART_BYTES, MAX_PART_LINES]
    if (part.isBase64) part.padded += paddedIn(line)
    part.isFull = part.bytes > maxBytes || part.lines > maxLines || part.padded > MAX_PADDED
    if (!part.isFull) this.#keep(line)
  }

  /** Where the next line that matters begins: of a full part only boundaries do. */
  #afterUnread(chunk: Buffer, from: number): number {
    let start = from
    while (this.#part.isFull && !this.#part.isHeader) {
      if (chunk[start] !== HYPHEN) start = chunk.indexOf(LINE_OF_HYPHEN, start) + 1 || chunk.lastIndexOf(LF) + 1
      const end = chunk.indexOf(LF, start)
      if (end < start || chunk[start] !== HYPHEN || this.#isBoundary(chunk, start, end)) return Math.max(start, from)
      start = end + 1
    }
    return start
  }

  #isFull(): boolean {
    return this.#isCut || this.#keptLines >= MAX_LINES
  }

  #addBoundary(boundary: string | undefined): void {
    if (boundary === undefined || this.#boundariesLeft-- <= 0) return
    this.#boundaries.add(`--${boundary}`, true)
    this.#boundaries.add(`--${boundary}--`, true)
  }

  #isBoundary(octets: Buffer, start: number, end: number): boolean {
    if (octets[start] !== HYPHEN || octets[start + 1] !== HYPHEN) return false
    return this.#boundaries.find(octets, start, withoutBlanks(octets, start, end)) === true
  }

  /** Keeps a line of a mail that is not full yet. */
  #keep(line: Buffer): void {
    this.#isCut = this.#keptBytes + line.length > MAX_BYTES
    if (this.#isCut) return
    // A copy: a short line must not keep a large chunk in memory.
    this.#kept.push(Buffer.from(line))
    this.#keptBytes += line.length
    this.#keptLines++
  }
}

const emptyPart = () => ({
  ...{ header: '', isHeader: true, isFieldRead: false },
  ...{ bytes: 0, lines: 0, padded: 0, isBase64: false, isCopy: false, isFull: false },
})

/**
 * Two fields of a header say how the part ends, and whether it is a copy of the message. Returns the boundary of a
 * multipart at the end of its header.
 */
function readHeaderLine(part: ReturnType<typeof emptyPart>, line: Buffer): string | undefined {
  if (withoutBlanks(line, 0, line.length) > 0) {
    const text = line.toString('latin1').trimEnd()
    const isFolded = /^[ \t]/.test(text)
    if (!isFolded) part.isFieldRead = /^content-(?:type|transfer-encoding):/i.test(text)
    if (part.isFieldRead && part.header.length < MAX_LINE_BYTES) part.header += `${isFolded ? ' ' : '\n'}${text.trim()}`
    return undefined
  }
  const { header } = part
  part.isHeader = false
  part.isBase64 = /^content-transfer-encoding:[^\n]{0,100}base64/im.test(header)
  part.isCopy = /^content-type:\s?(?:message\/(?:rfc822|global|global-headers)|text\/rfc822-headers)(?![\w-])/im.test(
    header,
  )
  const [, quoted, bare] =
    /^content-type:\s?multipart\/[^\n]{0,400}?boundary\s?=\s?(?:"([^"\n]{1,200})"|([^\s;]{1,200}))/im.exec(header) ?? []
  return quoted ?? bare
}

function paddedIn(line: Buffer): number {
  let count = 0
  for (const octet of line) if (octet === EQUALS) count++
  return count
}

/** Where octets end without the white space at their end. */
function withoutBlanks(octets: Buffer, start: number, end: number): number {
  let last = end
  while (last > start && octets[last - 1]! <= SPACE) last--
  return last
}

export function condense(mail: Buffer): Buffer {
  const condenser = new Condenser()
  condenser.push(mail)
  return condenser.end()
}
