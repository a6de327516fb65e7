import { AddressFileFault, MAX_SHOWN, type Row, type Table } from './table.ts'

/** The lists in responses of other services: SES, Postmark, Mailgun, Resend, SendGrid. */
const LISTS = ['SuppressedDestinationSummaries', 'Suppressions', 'items', 'data', 'recipient_emails', 'emails']

/** More members than any list has: no file makes a table of more columns. */
const MAX_MEMBERS = 50

/** The table of one JSON text, or of one in each line: an entry is a row, and the names of its members the headings. */
export function tableOfJson(text: string): Table {
  const entries = valuesOf(text).flatMap(entriesOf).map(flat)
  const members = membersOf(entries)
  const rows = entries.map((entry, i): Row => ({ line: i + 1, cells: cellsOf(entry, members) }))
  return { rows, members, lines: Math.max(1, entries.length) }
}

function membersOf(entries: readonly unknown[]): string[] {
  const members = new Set<string>()
  for (const entry of entries) {
    if (isObject(entry)) for (const name of Object.keys(entry)) members.add(name)
    if (members.size > MAX_MEMBERS) break
  }
  return [...members].slice(0, MAX_MEMBERS)
}

function valuesOf(text: string): unknown[] {
  const whole = parsed(text)
  if (whole !== undefined) return [whole]
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return lines.map((line, i) => {
    const value = parsed(line)
    if (value === undefined) throw new AddressFileFault(`The file begins as JSON, but line ${i + 1} is not JSON.`)
    return value
  })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The entries of a value: of a list those of its elements, which may be pages, and of a page those of its list. */
function entriesOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value.flatMap((one) => (Array.isArray(one) ? [one] : entriesOf(one)))
  if (!isObject(value)) return [value]
  const named = LISTS.map((name) => (Object.hasOwn(value, name) ? value[name] : undefined)).find(Array.isArray)
  const lists = Object.values(value).filter((one) => Array.isArray(one) && one.length > 0 && one.every(isObject))
  return named ?? (lists.length === 1 ? (lists[0] as unknown[]) : [value])
}

/** `reason: {code: "x"}` is a member `reason.code`. */
function flat(entry: unknown): unknown {
  if (!isObject(entry) || !Object.values(entry).some(isObject)) return entry
  return Object.fromEntries(
    Object.entries(entry).flatMap(([name, value]) =>
      isObject(value) ? Object.entries(value).map(([inner, one]) => [`${name}.${inner}`, one]) : [[name, value]],
    ),
  )
}

/** A text that is no object is the cell of every column. */
function cellsOf(entry: unknown, members: readonly string[]): string[] {
  if (members.length === 0) return [textOf(entry)]
  return members.map((name) => textOf(isObject(entry) ? entry[name] : entry))
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value).slice(0, MAX_SHOWN)
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
