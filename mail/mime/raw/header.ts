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
/** Printable ASCII without space and colon, and no space before the colon. */
const NAME = /^([!-9;-~]{1,76}):/

/** Collects the fields of one header. `add` returns the fault of a line. */
export function createHeader(content: Buffer) {
  const fields: RawField[] = []
  let bytes = 0
  return {
    fields,
    add({ start, end, number }: Line): string | undefined {
      bytes += end - start + 2
      if (bytes > MAX_BYTES) return `has a header of over ${MAX_BYTES / 1024} KiB`
      const text = content.toString('utf8', start, end)
      const last = fields.at(-1)
      if (text[0] === ' ' || text[0] === '\t') {
        if (!last) return `begins its header with a folded line, in line ${number}`
        last.value = `${last.value} ${text.trim()}`.trim()
        last.end = end + 2
        return undefined
      }
      const name = NAME.exec(text)?.[1]
      if (name === undefined) {
        return `has no header field in line ${number}: a name of 1 to 76 printable characters and a colon right after it`
      }
      fields.push({ name: name.toLowerCase(), value: text.slice(name.length + 1).trim(), start, end: end + 2 })
      return undefined
    },
  }
}

export function valuesOf(fields: readonly RawField[], name: string): string[] {
  return fields.filter((field) => field.name === name).map(({ value }) => value)
}
