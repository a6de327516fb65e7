import { parse } from 'csv-parse/browser/esm/sync'
import { AddressFileFault, type AddressLine, type AddressList, ColumnFault } from './addresses.ts'

const SEPARATORS = [',', ';', '\t']
const SAMPLED = 20
/** What a text shows of a record whose cell is empty. */
const MAX_SHOWN = 300

interface CsvRecord {
  line: number
  cells: string[]
}

/** The addresses of CSV (RFC 4180), whose quoted cells may have line breaks. A list of addresses is CSV of one column. */
export function addressesInCsv(original: string, column?: string | number): AddressList {
  // The parser knows one line end in a file.
  const text = original.replaceAll(/\r\n?/g, '\n')
  const records = recordsOf(text)
  const { index, hasHeader } = columnOf(records, column)
  const addresses: AddressLine[] = []
  for (const { line, cells } of hasHeader ? records.slice(1) : records) {
    const address = cells[index]?.trim() ?? ''
    const isEmpty = address === '' && cells.every((cell) => cell.trim() === '')
    if (!isEmpty) addresses.push({ line, text: address || `no address: ${cells.join(',')}`.slice(0, MAX_SHOWN) })
  }
  const lines = text.replace(/\n$/, '').split('\n').length
  return { addresses, lines, hasHeader, columns: columnsOf(records), column: index }
}

function recordsOf(text: string): CsvRecord[] {
  const delimiter = separatorOf(text)
  try {
    return text.includes('"') ? withQuotes(text, delimiter) : withoutQuotes(text, delimiter)
  } catch (error) {
    throw new AddressFileFault(`The file is not CSV: ${(error as Error).message}.`)
  }
}

// A quote within a cell belongs to it, as in `"a,b"@example.com`.
const OPTIONS = { relax_column_count: true, relax_quotes: true, record_delimiter: '\n' } as const

/** Records may have line ends in their cells. The parser's own count of lines takes longer than the parser. */
function withQuotes(text: string, delimiter: string): CsvRecord[] {
  let line = 1
  return parse(text, { ...OPTIONS, delimiter }).map((cells) => {
    const begin = line
    line += 1 + cells.reduce((sum, cell) => sum + lineEndsIn(cell), 0)
    return { line: begin, cells }
  })
}

/** Each line is a record. Empty ones, of which a file may have any number, are left out after the first line. */
function withoutQuotes(text: string, delimiter: string): CsvRecord[] {
  const numbers: number[] = []
  const lines = text.split('\n').filter((line, i) => (i === 0 || line !== '') && numbers.push(i + 1))
  return parse(text && `${lines.join('\n')}\n`, { ...OPTIONS, delimiter }).map((cells, i) => ({
    line: numbers[i]!,
    cells,
  }))
}

const lineEndsIn = (cell: string) => (cell.includes('\n') ? cell.split('\n').length - 1 : 0)

/** The separator that occurs most in the first lines. */
function separatorOf(text: string): string {
  const sample = text
    .split('\n', SAMPLED)
    .join('\n')
    .replaceAll(/"[^"]*"/g, '')
  const count = (separator: string) => sample.split(separator).length
  return SEPARATORS.toSorted((a, b) => count(b) - count(a))[0]!
}

const HEADING = /mail|address|recipient/i

interface FoundColumn {
  index: number
  hasHeader: boolean
}

/** Finds the column by its name, number or index, else by a heading over addresses, else by the addresses in it. */
function columnOf(records: CsvRecord[], column: string | number | undefined): FoundColumn {
  const first = records[0]?.cells ?? []
  const hasAddress = (index: number) => first[index]?.includes('@') ?? false
  if (typeof column === 'string') {
    const name = column.trim().toLowerCase()
    const named = first.findIndex((cell) => cell.trim().toLowerCase() === name)
    if (named !== -1) return { index: named, hasHeader: true }
  }
  if (column !== undefined) {
    const index = typeof column === 'number' ? column : /^\d{1,4}$/.test(column) ? Number(column) - 1 : -1
    if (index >= 0 && index < first.length) return { index, hasHeader: !hasAddress(index) && records.length > 1 }
    throw noColumn(`The file has no column ${JSON.stringify(column)}.`, records)
  }
  const sample = records.slice(0, SAMPLED)
  const found = (index: number) => sample.filter(({ cells }) => cells[index]?.includes('@')).length
  const width = Math.max(1, ...sample.map(({ cells }) => cells.length))
  const columns = Array.from({ length: width }, (_, index) => index)
  const headed = columns.filter((index) => HEADING.test(first[index] ?? '') && !hasAddress(index))
  const index = firstWithMost(headed.length > 0 ? headed : columns, found)
  // A list of one column is imported as it is: each of its lines is counted as faulty.
  const isFound = width === 1 || headed.length > 0 || records.some(({ cells }) => cells.some((c) => c.includes('@')))
  if (!isFound) throw noColumn('No column of the file has addresses.', records)
  return { index, hasHeader: headed.length > 0 }
}

function firstWithMost(columns: readonly number[], count: (column: number) => number): number {
  let [first, most] = [columns[0]!, count(columns[0]!)]
  for (const column of columns) {
    const counted = count(column)
    if (counted > most) [first, most] = [column, counted]
  }
  return first
}

const columnsOf = ([first]: CsvRecord[]) => (first?.cells ?? []).map((cell) => cell.trim().slice(0, MAX_SHOWN))

function noColumn(message: string, records: CsvRecord[]): ColumnFault {
  const columns = columnsOf(records)
  return new ColumnFault(`${message} Its columns: ${columns.join(', ').slice(0, MAX_SHOWN)}`, columns)
}
