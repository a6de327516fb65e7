import type { Line } from './lines.ts'

// The header of a message or of one of its parts (RFC 5322 2.2), line by line.

export interface RawField {
  /** In lower case. */
  name: string
  /** Unfolded, without white space around it. */
  value: string
  /** Where it begins and ends in the message, with its last CRLF. */
  start: number
  end: number
}

const MAX_BYTES = 64 * 1024
/** Programs write less than a tenth of it. Each field costs as much as a long line of text. */
const MAX_FIELDS = 1_000
export const MAX_RECEIVED = 100
/** Mail servers stop a message that goes in a circle by this count (RFC 5321 6.3). */
export const TOO_MANY_RECEIVED = `has over ${MAX_RECEIVED} Received headers: it goes in a circle between mail servers`
/** Printable ASCII without space and colon, and no space before the colon. */
const NAME = /^([!-9;-~]{1,76}):/
/** Readers and filters disagree about them: some end a line there, some leave them out. */
const CONTROL = /[\x00-\x08\x0a-\x1f\x7f]/

/**
 * Collects the fields of one header. `isStrict` refuses what the header of a part may have: control characters, and
 * folded lines of blanks alone, which old readers take for the end of the header.
 */
export class HeaderReader {
  readonly #content: Buffer
  readonly #isStrict: boolean
  readonly #fields: RawField[] = []
  /** The lines of the last field: joined once, because a field of many lines would be copied for each of them. */
  #lines: string[] = []
  #bytes = 0

  constructor(content: Buffer, { isStrict = false } = {}) {
    this.#content = content
    this.#isStrict = isStrict
  }

  /** Returns the fault of the line. */
  add(line: Line): string | undefined {
    const { start, end, number } = line
    this.#bytes += end - start + 2
    if (this.#bytes > MAX_BYTES) return `has a header of over ${MAX_BYTES / 1024} KiB`
    const text = this.#content.toString('utf8', start, end)
    if (this.#isStrict && CONTROL.test(text)) return `has a control character in its header, in line ${number}`
    if (text[0] === ' ' || text[0] === '\t') return this.#fold(text, line)
    const name = NAME.exec(text)?.[1]
    if (name === undefined) {
      return `has no header field in line ${number}: a name of 1 to 76 printable characters and a colon right after it`
    }
    if (this.#fields.length >= MAX_FIELDS) return `has over ${MAX_FIELDS} header fields`
    this.#endField()
    const value = text.slice(name.length + 1).trim()
    this.#lines = [value]
    this.#fields.push({ name: name.toLowerCase(), value, start, end: end + 2 })
    return undefined
  }

  end(): RawField[] {
    this.#endField()
    return this.#fields
  }

  #fold(text: string, { end, number }: Line): string | undefined {
    const last = this.#fields.at(-1)
    if (!last) return `begins its header with a folded line, in line ${number}`
    const words = text.trim()
    if (this.#isStrict && words === '') return `has a folded line of blanks alone in its header, in line ${number}`
    this.#lines.push(words)
    last.end = end + 2
    return undefined
  }

  #endField(): void {
    const last = this.#fields.at(-1)
    if (last && this.#lines.length > 1) last.value = this.#lines.filter((line) => line !== '').join(' ')
  }
}

export function valuesOf(fields: readonly RawField[], name: string): string[] {
  const values: string[] = []
  for (const field of fields) if (field.name === name) values.push(field.value)
  return values
}
