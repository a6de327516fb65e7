import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { timestampDate } from '@bufbuild/protobuf/wkt'

export type Cell = string | number | boolean | Timestamp | undefined

/**
 * A line of a CSV file (RFC 4180), with its line end. A text that a spreadsheet would take for a formula gets an
 * apostrophe before it, so that none runs what a stranger wrote.
 */
export const csvLine = (cells: readonly Cell[]): string => `${cells.map(csvCell).join(',')}\r\n`

function csvCell(value: Cell): string {
  if (value === undefined) return ''
  if (typeof value === 'object') return timestampDate(value).toISOString()
  if (typeof value !== 'string') return String(value)
  return `"${value.replace(FORMULA, "'").replaceAll('"', '""')}"`
}

/** Before blanks, which some spreadsheets drop, and in full width, which others take for ASCII. */
const FORMULA = /^(?=\s*[=+@\-＝＋＠－]|[\t\r\n])/
