// Fields as in headers (RFC 5322 2.2), and in reports that consist of fields (RFC 3464 2.1, RFC 5965 3).

export interface Field {
  /** In lower case. */
  name: string
  /** The value, one entry for each folded line, without the white space around it and without empty lines. */
  lines: string[]
}

const FIELD = /^([!-9;-~]{1,64})[ \t]*:(.*)/s

/** The fields of a text, in groups that empty lines divide. Other lines are skipped. */
export function readFields(text: string): Field[][] {
  let group: Field[] = []
  const groups = [group]
  for (const line of text.split(/\r?\n/)) {
    const [, name, value = ''] = FIELD.exec(line) ?? []
    if (line.trim() === '') {
      group = []
      groups.push(group)
    } else if (/^[ \t]/.test(line)) group.at(-1)?.lines.push(line.trim())
    else if (name) group.push({ name: name.toLowerCase(), lines: [value.trim()].filter((each) => each !== '') })
  }
  return groups.filter((group) => group.length > 0)
}

/** The lines of the first field with this name; empty when there is none. */
export function fieldLines(fields: readonly Field[], name: string): string[] {
  return fields.find((field) => field.name === name)?.lines ?? []
}

/** The first field with this name on one line; empty when there is none. */
export function fieldValue(fields: readonly Field[], name: string): string {
  return fieldLines(fields, name).join(' ')
}

/** Every field with this name, each on one line. */
export function fieldValues(fields: readonly Field[], name: string): string[] {
  return fields.filter((field) => field.name === name).map(({ lines }) => lines.join(' '))
}

/**
 * The name in a value: `ann@example.com` of `rfc822; Ann <ann@example.com>`, `mx.example.com` of
 * `dns; mx.example.com. (192.0.2.7)`, and `rené@example.com` of `utf-8; ren\x{E9}@example.com` (RFC 6533 3).
 */
export function bareValue(value: string): string {
  const text = withoutType(value).replace(COMMENT, '').trim()
  const name = (/<([^<>]{1,400})>$/.exec(text)?.[1] ?? text.replace(/^<|>$/g, '')).trim().replace(/\.$/, '')
  return /^utf-8\s{0,8};/i.test(value) ? name.replace(EMBEDDED, (_, hex: string) => characterOf(hex)) : name
}

/** At the end of a value. */
const COMMENT = /\s\([^()]{0,400}\)\s{0,8}$/

/** A character within ASCII. A code point that no text can hold becomes U+FFFD, which no address holds. */
const EMBEDDED = /\\x\{([0-9a-f]{2,6})\}/gi

function characterOf(hex: string): string {
  const code = Number.parseInt(hex, 16)
  return code > 0x10ffff ? '\ufffd' : String.fromCodePoint(code).toWellFormed()
}

/** The type of a value: `smtp` of `smtp; 550 5.1.1 ...`; empty when it has none. */
export const typeOf = (value: string): string => /^([\w-]{1,32})\s{0,8};/.exec(value)?.[1] ?? ''

/** The value without its type: `550 5.1.1 ...` of `smtp; 550 5.1.1 ...`. */
export function withoutType(value: string): string {
  return value.replace(/^[\w-]{1,32}\s{0,8};\s{0,8}/, '')
}
