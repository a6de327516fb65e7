import { isUtf8 } from 'node:buffer'
import { createDelimiters } from '../delimiters.ts'
import { parameterOf, readParameters, showParameterised, textParameter } from '../parameters.ts'
import { fromQuotedPrintable } from '../quoted-printable.ts'
import { HeaderReader, type RawField, valuesOf } from './header.ts'
import type { Line } from './lines.ts'

// The parts of a message that others have built (RFC 2045, 2046), line by line in one pass. Time and memory are bounded
// for any input: at most 100 parts, and 64 KiB of header for each.

const MAX_PARTS = 100

/** A part that is no multipart. */
export interface MimePart {
  /** In lower case. */
  type: string
  /** The media type with the parameters that say how to read the part. */
  shownType: string
  charset?: string
  /** What the sender of a calendar wants of it (RFC 6047). */
  method?: string
  encoding: string
  isAttached: boolean
  filename?: string
  contentId?: string
  /** The html shows it. */
  isInline: boolean
  /** It is part of a message within the message. */
  isForwarded: boolean
  /** Where its content is in the message. */
  start: number
  end: number
  /** The size of its decoded content, in bytes. */
  size: number
}

/** What is open around the current line, outermost first. */
type Frame =
  | { kind: 'multipart'; delimiter: string; isDigest: boolean; isDeclared: boolean }
  | { kind: 'message'; part: MimePart; isDeclared: boolean }

/** Reads the parts of a message whose own header has the fields `fields`. */
export class PartsReader {
  readonly #content: Buffer
  readonly #mayBeUtf8: boolean
  readonly #fault: string | undefined
  readonly #parts: MimePart[] = []
  readonly #frames: Frame[] = []
  /** The innermost frame with each delimiter, by the line that it is and by the line that ends it. */
  readonly #frameByLine = createDelimiters<{ frame: Frame; index: number; isEnd: boolean }>()
  #entities = 0
  /** `begun`: the next line begins it, so a body of delimiters alone makes no headers. */
  #header: HeaderReader | 'begun' | undefined
  /** The part whose content the current line is; undefined around the parts of a multipart. */
  #part: MimePart | undefined
  #isDeclared = false

  constructor(
    content: Buffer,
    fields: readonly RawField[],
    { bodyStart, mayBeUtf8 }: { bodyStart: number; mayBeUtf8: boolean },
  ) {
    this.#content = content
    this.#mayBeUtf8 = mayBeUtf8
    this.#fault = this.#open(fields, bodyStart)
  }

  /** Returns the fault of the line. */
  add(line: Line): string | undefined {
    if (this.#fault !== undefined) return this.#fault
    const { start, end, number, isEightBit } = line
    if (this.#endsAtDelimiter(line)) return undefined
    if (this.#header) {
      if (this.#header === 'begun') this.#header = new HeaderReader(this.#content)
      if (isEightBit && !this.#isDeclaredAround() && !(this.#mayBeUtf8 && isUtf8(this.#content.subarray(start, end)))) {
        return `has an 8-bit octet in the header of a part, in line ${number}`
      }
      if (start === end) return this.#open(this.#header.end(), end + 2)
      return this.#header.add(line)
    }
    if (isEightBit && !this.#isDeclared) {
      return `has an 8-bit octet in line ${number}, and its part has no Content-Transfer-Encoding: 8bit`
    }
    if (this.#part && !isIdentity(this.#part.encoding)) count(this.#part, this.#content, line)
    return undefined
  }

  /** All parts, in their order. */
  end(): MimePart[] {
    const { length } = this.#content
    // Nothing ended the last part: its last line end is its own.
    const hasLineEnd = length >= 2 && this.#content[length - 1] === LF
    this.#endInside(-1, length + (hasLineEnd && this.#frames.length === 0 ? 2 : hasLineEnd ? 0 : 2))
    return this.#parts
  }

  /** Begins the body of an entity. */
  #open(fields: readonly RawField[], start: number): string | undefined {
    if (++this.#entities > MAX_PARTS) return `has over ${MAX_PARTS} parts`
    const around = this.#frames.at(-1)
    const byDefault = around?.kind === 'multipart' && around.isDigest ? 'message/rfc822' : 'text/plain'
    const type = readParameters(valuesOf(fields, 'content-type')[0] ?? byDefault)
    const encoding = (valuesOf(fields, 'content-transfer-encoding')[0] ?? '7bit').toLowerCase()
    const isDeclared = encoding === '8bit' || this.#isDeclaredAround()
    this.#isDeclared = isDeclared
    this.#header = undefined
    this.#part = undefined
    const boundary = parameterOf(type, 'boundary')
    if (type.value.startsWith('multipart/') && boundary) {
      const isDigest = type.value === 'multipart/digest'
      this.#frames.push({ kind: 'multipart', delimiter: `--${boundary.trimEnd()}`, isDigest, isDeclared })
      this.#noteDelimiter(this.#frames.length - 1)
      return undefined
    }
    const isForwarded = this.#frames.some(({ kind }) => kind === 'message')
    const part = partOf(fields, type, encoding, { start, isForwarded })
    this.#parts.push(part)
    if (/^message\/(?:rfc822|global)$/.test(type.value) && /^(?:7bit|8bit|binary)$/.test(encoding)) {
      this.#frames.push({ kind: 'message', part, isDeclared })
      this.#header = new HeaderReader(this.#content)
    } else this.#part = part
    return undefined
  }

  /** Whether the line divides the parts of a multipart: then it ends what is inside. */
  #endsAtDelimiter({ start, end }: Line): boolean {
    const content = this.#content
    if (content[start] !== DASH || content[start + 1] !== DASH || this.#frames.length === 0) return false
    const delimiter = this.#frameByLine.find(content, start, withoutBlanks(content, start, end))
    if (!delimiter) return false
    const { frame, index, isEnd } = delimiter
    this.#endInside(index, start)
    this.#isDeclared = frame.isDeclared
    if (isEnd) this.#endInside(index - 1, start)
    else this.#header = 'begun'
    return true
  }

  #noteDelimiter(index: number): void {
    const frame = this.#frames[index]
    if (frame?.kind !== 'multipart') return
    this.#frameByLine.add(frame.delimiter, { frame, index, isEnd: false })
    this.#frameByLine.add(`${frame.delimiter}--`, { frame, index, isEnd: true })
  }

  /** Ends what is inside the frame with this index. `at` is where the line begins that ends it. */
  #endInside(index: number, at: number): void {
    if (this.#part) endPart(this.#part, at)
    this.#header = undefined
    this.#part = undefined
    if (index + 1 >= this.#frames.length) return
    for (const frame of this.#frames.splice(index + 1)) if (frame.kind === 'message') endPart(frame.part, at)
    this.#frameByLine.clear()
    for (const i of this.#frames.keys()) this.#noteDelimiter(i)
  }

  #isDeclaredAround(): boolean {
    return this.#frames.some((frame) => frame.kind === 'message' && frame.isDeclared)
  }
}

const DASH = 45
const LF = 10

const isIdentity = (encoding: string) => encoding !== 'base64' && encoding !== 'quoted-printable'

/** The line end before a delimiter belongs to the delimiter. */
function endPart(part: MimePart, at: number): void {
  part.end = Math.max(at - 2, part.start)
  if (isIdentity(part.encoding)) part.size = part.end - part.start
  else if (part.encoding === 'base64') part.size = Math.floor((part.size * 3) / 4)
  else part.size = Math.max(0, part.size - 2)
}

/** Adds a line of encoded text to the size of its part: characters of base64, octets of quoted-printable. */
function count(part: MimePart, content: Buffer, { start, end }: Line): void {
  let last = withoutBlanks(content, start, end)
  if (part.encoding === 'base64') {
    while (last > start && content[last - 1] === EQUALS) last--
    part.size += last - start
    return
  }
  let octets = last - start
  for (let at = start; at < last; at++) if (content[at] === EQUALS) octets -= at === last - 1 ? 3 : 2
  part.size += octets + 2
}

const EQUALS = 61

/** Where a line ends without the blanks at its end. */
function withoutBlanks(content: Buffer, start: number, end: number): number {
  let last = end
  while (last > start && (content[last - 1] === 32 || content[last - 1] === 9)) last--
  return last
}

/** How to read the part. `name` and `boundary` say something else. */
const SHOWN_PARAMETERS = ['charset', 'method', 'component', 'format']
const MAX_SHOWN = 255

function partOf(
  fields: readonly RawField[],
  type: ReturnType<typeof readParameters>,
  encoding: string,
  more: { start: number; isForwarded: boolean },
): MimePart {
  const disposition = readParameters(valuesOf(fields, 'content-disposition')[0] ?? '')
  const filename = textParameter(disposition, 'filename') ?? textParameter(type, 'name')
  const contentId = valuesOf(fields, 'content-id')[0]?.replace(/^<|>$/g, '')
  const isText = /^text\/(?:plain|html|calendar)$/.test(type.value)
  const parameters = type.parameters.filter(([name]) => SHOWN_PARAMETERS.includes(name))
  return {
    type: type.value,
    shownType: showParameterised({ value: type.value, parameters }).slice(0, MAX_SHOWN),
    charset: parameterOf(type, 'charset'),
    method: type.value === 'text/calendar' ? parameterOf(type, 'method') : undefined,
    encoding,
    isAttached: disposition.value === 'attachment' || filename !== undefined || !isText,
    filename,
    contentId: contentId?.slice(0, MAX_SHOWN) || undefined,
    isInline: contentId !== undefined && disposition.value !== 'attachment',
    ...more,
    end: more.start,
    size: 0,
  }
}

/** The text of a part. Bytes that its charset has not become replacement characters. */
export function decodePart(part: Pick<MimePart, 'start' | 'end' | 'encoding' | 'charset'>, content: Buffer): string {
  return decoderOf(part.charset ?? 'utf-8').decode(octetsOf(part, content))
}

/** The decoded octets of a part. */
export function octetsOf(
  { start, end, encoding }: Pick<MimePart, 'start' | 'end' | 'encoding'>,
  content: Buffer,
): Buffer {
  const octets = content.subarray(start, end)
  if (encoding === 'quoted-printable') return fromQuotedPrintable(octets)
  return encoding === 'base64' ? Buffer.from(octets.toString('latin1'), 'base64') : octets
}

function decoderOf(charset: string): TextDecoder {
  try {
    return new TextDecoder(charset)
  } catch {
    return new TextDecoder('latin1')
  }
}
