import { isUtf8 } from 'node:buffer'
import { cleanText } from '../../net/clean-text.ts'
import { GatheredOctets } from '../../net/gathered-octets.ts'
import type { Reply } from './attempt.ts'

/** A reply as it came, one entry for each line, without its code. */
export interface RawReply {
  kind: 'reply'
  code: number
  lines: string[]
}

export type ParsedReply = RawReply | { kind: 'malformed'; detail: string }

/** The bound of a whole reply. Greetings and replies to EHLO may have any number of lines. */
const MAX_REPLY_BYTES = 65_536
const MAX_TEXT_BYTES = 1_024
const LF = 10
const CR = 13
const REPLY_LINE = /^([2-5]\d\d)(?:([ -])(.*))?$/s

/**
 * Splits what a server sends into replies (RFC 5321 4.2). Servers bend the rules: a line may end with LF alone, empty
 * lines mean nothing, and lines joined by a hyphen may have different codes of one class, of which the last one counts.
 * A line without a hyphen always ends a reply.
 */
export class ReplyParser {
  readonly #rest = new GatheredOctets()
  #lines: string[] = []
  #code = 0
  #bytes = 0
  #isMalformed = false

  /** The replies that `chunk` completes. After a malformed one the parser reads nothing more. */
  push(chunk: Buffer): ParsedReply[] {
    const parsed: ParsedReply[] = []
    let start = 0
    while (!this.#isMalformed) {
      const end = chunk.indexOf(LF, start)
      const piece = chunk.subarray(start, end < 0 ? chunk.length : end + 1)
      const length = this.#rest.length + piece.length
      if (this.#bytes + length > MAX_REPLY_BYTES) parsed.push(this.#malformed('too long'))
      else if (end < 0) {
        this.#rest.add(piece)
        break
      } else {
        this.#bytes += length
        const reply = this.#readLine(textOf(withoutEnd(this.#whole(piece))))
        if (reply) parsed.push(reply)
        start = end + 1
      }
    }
    return parsed
  }

  /** The line that ends with this piece. */
  #whole(piece: Buffer): Buffer {
    if (this.#rest.length === 0) return piece
    this.#rest.add(piece)
    const line = this.#rest.octets
    this.#rest.clear()
    return line
  }

  /** True when the beginning of a reply has come and its end has not. */
  midway(): boolean {
    return this.#rest.length > 0 || this.#lines.length > 0
  }

  /** The reply that this line completes. */
  #readLine(text: string): ParsedReply | undefined {
    if (text === '') return undefined
    if (text.includes('\r')) return this.#malformed('a bare CR')
    const [, digits, separator = ' ', words = ''] = REPLY_LINE.exec(text) ?? []
    if (digits === undefined) return this.#malformed('no reply code')
    if (this.#lines.length > 0 && digits[0] !== String(this.#code)[0]) return this.#malformed('a reply of two classes')
    this.#code = Number(digits)
    this.#lines.push(words)
    if (separator === '-') return undefined
    const reply: RawReply = { kind: 'reply', code: this.#code, lines: this.#lines }
    this.#lines = []
    this.#bytes = 0
    return reply
  }

  #malformed(detail: string): ParsedReply {
    this.#isMalformed = true
    this.#rest.clear()
    return { kind: 'malformed', detail }
  }
}

const withoutEnd = (line: Buffer) => line.subarray(0, line.at(-2) === CR ? -2 : -1)

/** Servers that write their language without UTF-8 write Latin-1. */
function textOf(line: Buffer): string {
  return line.toString(isUtf8(line) ? 'utf8' : 'latin1')
}

export function isCompletion(reply: RawReply | { kind: 'broken' }): reply is RawReply {
  return reply.kind === 'reply' && reply.code < 300
}

const ENHANCED = /^#?([245])\.(\d{1,3})\.(\d{1,3})(?=[\s:]|$)[\s:]*/

/**
 * The reply as it is shown and classified. It drops codes that the text repeats, and ignores an RFC 3463 status of
 * another class than the code's. A second status stays in the text.
 */
export function toReply({ code, lines }: Omit<RawReply, 'kind'>): Reply {
  let enhanced: string | undefined
  const texts = lines.map((line) => {
    let text = cleanText(line, { by: ' ' }).replace(/ {2,}/g, ' ').trim()
    for (let again = true; again; ) {
      const [status = '', digit, subject, detail] = ENHANCED.exec(text) ?? []
      const isOfClass = digit === String(code)[0] || (code >= 500 && digit === '4')
      const read = isOfClass ? `${digit}.${Number(subject)}.${Number(detail)}` : undefined
      enhanced ??= read
      const repeated = read
        ? read === enhanced && status
        : text.startsWith(String(code)) && /^\d{3}(?:[ -]+|$)/.exec(text)?.[0]
      if (repeated) text = text.slice(repeated.length)
      again = Boolean(repeated)
    }
    return text
  })
  const text = cap(texts.filter((each) => each !== '').join(' '))
  return enhanced === undefined ? { code, text } : { code, enhanced, text }
}

/** The reply with its codes, in one line. */
export function wordsOf({ code, enhanced, text }: Reply): string {
  return [code, enhanced, text].filter((word) => word).join(' ')
}

const textBytes = new Uint8Array(MAX_TEXT_BYTES)
const encoder = new TextEncoder()

/** At most 1,024 bytes; the cut is between two characters. */
function cap(text: string): string {
  return text.length <= MAX_TEXT_BYTES / 3 ? text : text.slice(0, encoder.encodeInto(text, textBytes).read)
}
