import stringWidth from 'string-width'

/** Narrower columns are not cut: too little would be left to read. */
const LEAST_WIDTH = 12
const GAP = '  '
const ID = /^[a-z]{3,4}_[0-9a-z]{26}$/
const TIME = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z$/

/**
 * Rows in aligned columns under a heading; `empty` when there are none. On a terminal of this width times are short,
 * and the widest columns are cut until a row fits. Ids stay whole, and a pipe gets every character.
 */
export function table(heading: string[], rows: string[][], empty: string, width = terminalWidth()): string {
  if (rows.length === 0) return empty
  const shown = [heading, ...(width === undefined ? rows : rows.map((row) => row.map(shortened)))]
  const widths = heading.map((_, column) => Math.max(...shown.map((row) => stringWidth(row[column] ?? ''))))
  if (width !== undefined) narrow(widths, width, shown)
  const pad = (text: string, column: number) => {
    const { [column]: room = 0 } = widths
    const cell = cut(text, room)
    return cell + ' '.repeat(room - stringWidth(cell))
  }
  return shown.map((row) => row.map(pad).join(GAP).trimEnd()).join('\n')
}

const terminalWidth = () => (process.stdout.isTTY ? process.stdout.columns : undefined)

const shortened = (cell: string) => cell.replace(TIME, '$1 $2')

/** Takes from the widest column that may be cut, as often as it takes. */
function narrow(widths: number[], width: number, rows: string[][]): void {
  const mayBeCut = widths.map((_, column) => !rows.some((row) => ID.test(row[column] ?? '')))
  const total = () => widths.reduce((sum, one) => sum + one + GAP.length, -GAP.length)
  while (total() > width) {
    const most = Math.max(...widths.filter((_, column) => mayBeCut[column]))
    if (most <= LEAST_WIDTH) return
    widths[widths.findIndex((one, column) => mayBeCut[column] && one === most)] = most - 1
  }
}

const characters = new Intl.Segmenter('en')

function cut(text: string, width: number): string {
  if (stringWidth(text) <= width) return text
  let kept = ''
  for (const { segment } of characters.segment(text)) {
    if (stringWidth(kept + segment) >= width) break
    kept += segment
  }
  return `${kept.trimEnd()}…`
}

/** A list and, unless it is the last page, how to see the next one. */
export const pageText = (list: string, { has_more, next_cursor }: { has_more?: unknown; next_cursor?: unknown }) =>
  has_more ? `${list}\n\nMore: --cursor ${next_cursor}` : list

/** Printed beside a count of emails that is zero. */
export const NOT_COUNTED = 'Dry runs and emails to the simulator are not counted.'

/** A time to the minute, in UTC. */
export function shortTime(at: Date | null): string {
  return at ? `${at.toISOString().slice(0, 16).replace('T', ' ')}Z` : '-'
}
