import { parse } from 'csv-parse/browser/esm/sync'
import { AddressFileFault, addressesIn, isAddress, type Row, type Table } from './table.ts'

const SEPARATORS = [',', ';', '\t']
const SAMPLED = 20

/**
 * The rows of CSV (RFC 4180), whose quoted cells may have line breaks. A list of addresses is CSV of one column. A line
 * `sep=;` and titles above the table are left out.
 */
export function tableOfCsv(original: string): Table {
  // The parser knows one line end in a file.
  const text = original.replaceAll(/\r\n?/g, '\n')
  const told = /^\s*"?sep=([,;\t])"?[\t ]*(?:\n|$)/i.exec(text)
  const separator = told?.[1] ?? separatorOf(text)
  const rows = recordsOf(text, separator)
  const lines = text.replace(/\n$/, '').split('\n').length
  return { rows: withoutTitles(told ? rows.slice(1) : rows), lines, separator }
}

function recordsOf(text: string, delimiter: string): Row[] {
  try {
    return text.includes('"') && delimiter !== '\t' ? withQuotes(text, delimiter) : withoutQuotes(text, delimiter)
  } catch (error) {
    throw new AddressFileFault(`The file is not CSV: ${(error as Error).message}.`)
  }
}

// A quote within a cell belongs to it, as in `"a,b"@example.com`.
const OPTIONS = { relax_column_count: true, relax_quotes: true, record_delimiter: '\n' } as const

/** Records may have line ends in their cells. The parser's own count of lines takes longer than the parser. */
function withQuotes(text: string, delimiter: string): Row[] {
  let line = 1
  return parse(bytesOf(text), { ...OPTIONS, delimiter }).map((cells) => {
    const begin = line
    line += 1 + cells.reduce((sum, cell) => sum + lineEndsIn(cell), 0)
    return { line: begin, cells }
  })
}

/**
 * Each line is a record. Empty ones, of which a file may have any number, are left out after the first line. Between
 * tabs a quote is a letter, but for a pair around a whole cell, which spreadsheets write.
 */
function withoutQuotes(text: string, delimiter: string): Row[] {
  const numbers: number[] = []
  const lines = text.split('\n').filter((line, i) => (i === 0 || line !== '') && numbers.push(i + 1))
  const hasQuotes = text.includes('"')
  const unquoted = (cell: string) => cell.replace(/^"(.*)"$/s, (_, inner: string) => inner.replaceAll('""', '"'))
  return parse(bytesOf(text && `${lines.join('\n')}\n`), { ...OPTIONS, delimiter, quote: null }).map((cells, i) => ({
    line: numbers[i]!,
    cells: hasQuotes ? cells.map(unquoted) : cells,
  }))
}

/** The parser takes seconds to encode a long text. */
const bytesOf = (text: string) => new TextEncoder().encode(text)

const lineEndsIn = (cell: string) => (cell.includes('\n') ? cell.split('\n').length - 1 : 0)

/** The separator that occurs most in the first lines. */
function separatorOf(text: string): string {
  const sample = text
    .split('\n', SAMPLED)
    .join('\n')
    .replaceAll(/"[^"]*"/g, '')
  const count = (separator: string) => sample.split(separator).length
  return SEPARATORS.reduce((most, separator) => (count(separator) > count(most) ? separator : most))
}

const filled = ({ cells }: Row) => cells.filter((cell) => cell.trim() !== '').length

/** The rows from the first one that has as many cells as most: a report may have a title and a date above its table. */
function withoutTitles(rows: Row[]): Row[] {
  const sample = rows.slice(0, SAMPLED).filter((row) => filled(row) > 0)
  const widths = Map.groupBy(sample, ({ cells }) => cells.length)
  const [width = 1] = [...widths].toSorted(([, a], [, b]) => b.length - a.length)[0] ?? []
  const isTitle = (row: Row) => width > 1 && filled(row) <= 1 && !row.cells.some((cell) => cell.includes('@'))
  const first = rows.findIndex((row) => !isTitle(row))
  const rest = rows.slice(Math.max(0, first))
  // Under the heading of a list, each line may hold several addresses.
  const isList = rest.every(({ cells }) => cells.every((cell) => cell.trim() === '' || addressesIn(cell).length > 0))
  return isList && first === 1 ? rows : rest
}

/**
 * Throws when a quoted cell holds a line that looks like a row of the file: a quote that was not meant as one would
 * hide the rows up to the next.
 */
export function refuseSwallowedRows({ rows, separator }: Table, column: number): void {
  if (separator === undefined) return
  const width = rows[0]?.cells.length ?? 1
  for (const { line, cells } of rows) {
    const swallowed = cells
      .filter((cell) => cell.includes('\n'))
      .flatMap((cell) => cell.split('\n'))
      .map((one) => one.split(separator))
    if (swallowed.some((one) => one.length === width && isAddress((one[column] ?? '').replaceAll('"', ''))))
      throw new AddressFileFault(
        `A quote in line ${line} takes in the lines after it, and they look like rows of the file. Write it twice, or take it away.`,
      )
  }
}
