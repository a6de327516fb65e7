// Fields as headers have them (RFC 5322 2.2), and the reports that are made of them (RFC 3464 2.1, RFC 5965 3).

export interface Field {
  /** In lower case. */
  name: string
  /** Its value as it was folded, without the white space around each line, and without lines of nothing. */
  lines: string[]
}

const FIELD = /^([!-9;-~]{1,64})[ \t]*:(.*)$/s

/** The fields of a text, in groups that empty lines divide. What is no field is skipped. */
export function readFields(text: string): Field[][] {
  const groups: Field[][] = [[]]
  for (const line of text.split(/\r?\n/)) {
    const group = groups.at(-1)!
    const [, name, value = ''] = FIELD.exec(line) ?? []
    if (line.trim() === '') groups.push([])
    else if (/^[ \t]/.test(line)) group.at(-1)?.lines.push(line.trim())
    else if (name) group.push({ name: name.toLowerCase(), lines: value.trim() === '' ? [] : [value.trim()] })
  }
  return groups.filter((group) => group.length > 0)
}

/** The first field of this name, as it was folded; none when it is not there. */
export function fieldLines(fields: readonly Field[], name: string): string[] {
  return fields.find((field) => field.name === name)?.lines ?? []
}

/** The first field of this name on one line; empty when it is not there. */
export function fieldValue(fields: readonly Field[], name: string): string {
  return fieldLines(fields, name).join(' ')
}

/** Every field of this name, each on one line. */
export function fieldValues(fields: readonly Field[], name: string): string[] {
  return fields.filter((field) => field.name === name).map(({ lines }) => lines.join(' '))
}

/** Of `rfc822; <ann@example.com>` and `dns; mx.example.com` what is named. */
export function bare(value: string): string {
  return withoutType(value).replace(/^<|>$/g, '').trim()
}

/** Of `smtp; 550 5.1.1 ...` what follows the type. */
export function withoutType(value: string): string {
  return value.replace(/^[\w-]{1,32}\s{0,8};\s{0,8}/, '')
}
