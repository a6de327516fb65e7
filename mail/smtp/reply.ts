import { isUtf8 } from 'node:buffer'
import { cleanText } from '../../net/clean-text.ts'
import type { Reply } from './attempt.ts'

/** A reply as it came, one entry for each line, without its code. */
export interface RawReply {
  kind: 'reply'
  code: number
  lines: string[]
}

export type ParsedReply = RawReply | { kind: 'malformed'; detail: string }

export interface ReplyParser {
  /** The replies that `chunk` completes. After a malformed one the parser reads nothing more. */
  push(chunk: Buffer): ParsedReply[]
  /** True when the beginning of a reply has come and its end has not. */
  midway(): boolean
}

/** The bound of a whole reply. Greetings and replies to EHLO may have any number of lines. */
const MAX_REPLY_BYTES = 65_536
const MAX_TEXT_BYTES = 1_024
const EMPTY = Buffer.alloc(0)
const LF = 10
const CR = 13
const REPLY_LINE = /^([2-5]\d\d)(?:([ -])(.*))?$/s

/**
 * Splits what a server sends into replies (RFC 5321 4.2). Servers bend the rules: a line may end with LF alone, empty
 * lines mean nothing, and lines joined by a hyphen may have different codes of one class, of which the last one counts.
 * A line without a hyphen always ends a reply.
 */
export function createReplyParser(): ReplyParser {
  let rest: Buffer = EMPTY
  let lines: string[] = []
  let code = 0
  let bytes = 0
  let isMalformed = false

  /** The reply that this line completes. */
  function readLine(text: string): ParsedReply | undefined {
    if (text === '') return undefined
    if (text.includes('\r')) return malformed('a bare CR')
    const [, digits, separator = ' ', words = ''] = REPLY_LINE.exec(text) ?? []
    if (digits === undefined) return malformed('no reply code')
    if (lines.length > 0 && digits[0] !== String(code)[0]) return malformed('a reply of two classes')
    code = Number(digits)
    lines.push(words)
    if (separator === '-') return undefined
    const reply: RawReply = { kind: 'reply', code, lines }
    lines = []
    bytes = 0
    return reply
  }

  function malformed(detail: string): ParsedReply {
    isMalformed = true
    return { kind: 'malformed', detail }
  }

  return {
    push(chunk) {
      const parsed: ParsedReply[] = []
      const data = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
      let start = 0
      while (!isMalformed) {
        const end = data.indexOf(LF, start)
        const length = (end < 0 ? data.length : end + 1) - start
        if (bytes + length > MAX_REPLY_BYTES) parsed.push(malformed('too long'))
        else if (end < 0) break
        else {
          bytes += length
          const reply = readLine(textOf(data.subarray(start, data[end - 1] === CR ? end - 1 : end)))
          if (reply) parsed.push(reply)
          start = end + 1
        }
      }
      // A copy: a few bytes must not keep a large chunk in memory.
      rest = isMalformed || start === data.length ? EMPTY : Buffer.from(data.subarray(start))
      return parsed
    },
    midway: () => rest.length > 0 || lines.length > 0,
  }
}

/** Servers that write their language without UTF-8 write Latin-1. */
function textOf(line: Buffer): string {
  return line.toString(isUtf8(line) ? 'utf8' : 'latin1')
}

export function isPositive({ code }: RawReply): boolean {
  return code < 300
}

const ENHANCED = /^#?([245])\.(\d{1,3})\.(\d{1,3})(?=[\s:]|$)[\s:]*/

/**
 * The reply as it is shown and classified. It drops codes that the text repeats, and ignores an RFC 3463 status of
 * another class than the code's.
 */
export function toReply({ code, lines }: Omit<RawReply, 'kind'>): Reply {
  let enhanced: string | undefined
  const texts = lines.map((line) => {
    let text = cleanText(line, { by: ' ' }).replace(/ {2,}/g, ' ').trim()
    for (let again = true; again; ) {
      const [status = '', digit, subject, detail] = ENHANCED.exec(text) ?? []
      const isOfClass = digit === String(code)[0] || (code >= 500 && digit === '4')
      if (isOfClass) enhanced ??= `${digit}.${Number(subject)}.${Number(detail)}`
      const repeated = isOfClass ? status : text.startsWith(String(code)) && /^\d{3}(?:[ -]+|$)/.exec(text)?.[0]
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
