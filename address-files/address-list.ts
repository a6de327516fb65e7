import { columnOf, headingsOf, indexOf } from './column.ts'
import { refuseSwallowedRows, tableOfCsv } from './csv.ts'
import type { Line } from './import-preview.ts'
import { tableOfJson } from './json.ts'
import { type Reason, reasonsOf } from './reasons.ts'
import { type Condition, countsOf, rowsWhere, shownCounts, statesOf } from './states.ts'
import { AddressFileFault, addressesIn, type Counts, type Row, type Table } from './table.ts'

/**
 * A line of a file with its address, or with a text that is none: the service counts that as faulty. At most 320
 * characters, and no text that the service refuses together with those around it.
 */
export interface AddressLine extends Line {
  /** Absent without a column of reasons. */
  reason?: Reason
}

/** How a file was understood. */
export interface AddressList {
  addresses: AddressLine[]
  /** Lines of the file, or entries of JSON. */
  lines: number
  /** Whether the first row names the columns. */
  hasHeader: boolean
  /** What the first row has in each column, or the members of JSON. */
  columns: string[]
  /** The column of the addresses, from 0. */
  column: number
  /** Its heading, or its number from 1 in a file without headings. */
  columnName: string
  /** Rows below the headings. */
  rows: number
  /** The column that says what became of a message. Absent when no column says that a mailbox lives. */
  states?: Counts
  reasons?: Counts
}

/** What the person says of a file. */
export interface Choices {
  /** The column of the addresses: its name or its number from 1, as text, or its index. */
  column?: string | number
  /** Only the rows that meet all of these. */
  where?: Condition[]
  /** All rows, whatever their state. */
  all?: boolean
  /** The column of the reasons: its name or its number from 1. */
  reasonColumn?: string
}

/**
 * Reads a file of addresses: one or several in each line, a column of a CSV file, or JSON that is or has one list. Throws
 * AddressFileFault for a file that could be understood in two ways.
 */
export function readAddressList(bytes: Uint8Array, { column, where, all, reasonColumn }: Choices = {}): AddressList {
  const table = tableOf(bytes)
  const columns = headingsOf(table)
  const { index, hasHeader } = columnOf(table, column)
  refuseSwallowedRows(table, Math.max(0, index))

  const below = (hasHeader ? table.rows.slice(1) : table.rows).filter(({ cells }) => cells.some((cell) => cell.trim()))
  const names = columns.map((heading, i) => (hasHeader || table.members ? heading : String(i + 1)))
  const states = index < 0 ? [] : statesOf(below, names, index)
  if (states.length > 0 && !where?.length && !all) throw statesFault(states)
  const rows = where?.length ? rowsWhere(below, names, where) : below
  const reasonIndex = reasonColumn === undefined ? undefined : indexOf(names, reasonColumn)
  const reasons = reasonIndex === undefined ? undefined : reasonsOf(rows, reasonIndex)

  return {
    addresses: rows.flatMap((row) => addressesOf(row, index, reasons?.get(row))),
    ...{ lines: table.lines, hasHeader, columns, column: Math.max(0, index), rows: below.length },
    columnName: names[Math.max(0, index)] || String(Math.max(0, index) + 1),
    ...(states[0] && { states: states[0] }),
    ...(reasonIndex !== undefined && {
      reasons: { column: names[reasonIndex]!, counts: countsOf(rows, reasonIndex) },
    }),
  }
}

/** The rows of a file, before anything is understood of them. */
export function tableOf(bytes: Uint8Array): Table {
  const text = decoded(bytes)
  if (/^[^\n]*\0/.test(text)) throw new AddressFileFault('The file is not text. Save it as CSV in UTF-8.')
  return /^\s*[[{]/.test(text) ? tableOfJson(text) : tableOfCsv(text)
}

/** The address of a row, or those of a row of a list. A text in place of one says why there is none. */
function addressesOf({ line, cells }: Row, index: number, reason: Reason | undefined): AddressLine[] {
  const more = reason && { reason }
  if (index < 0) {
    return cells.flatMap(addressesIn).map((email) => ({ line, email: sendable(email), ...more }))
  }
  const cell = cells[index]?.trim() ?? ''
  const fault = cell === '' ? 'no address' : addressesIn(cell).length > 1 ? 'several addresses' : undefined
  const shown = cell === '' ? cells.join(',') : cell
  return [{ line, email: sendable(fault ? `${fault}: ${shown}` : cell), ...more }]
}

/** No address is longer. The beginning of a longer text is enough to find it in the file. */
const MAX_CHARACTERS = 320

/** The service refuses NUL characters and halves of surrogate pairs, and with them the whole part of the file. */
function sendable(text: string): string {
  const beginning = text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS - 1)}…` : text
  return beginning.replaceAll('\0', '\uFFFD').toWellFormed()
}

function statesFault(states: Counts[]): AddressFileFault {
  const shown = states.map(({ column, counts }) => `${JSON.stringify(column)}: ${shownCounts(counts)}`).join('; ')
  return new AddressFileFault(`Some rows may be of mailboxes that take mail. ${shown}`, { states })
}

/** UTF-8 unless a byte order mark says UTF-16, as spreadsheets write it. The decoder drops the mark. */
function decoded(bytes: Uint8Array): string {
  const [first, second] = bytes
  const encoding =
    first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8'
  return new TextDecoder(encoding).decode(bytes)
}
