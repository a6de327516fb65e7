import stringWidth from 'string-width'

/** Rows in aligned columns under a heading; `empty` when there are none. */
export function table(heading: string[], rows: string[][], empty: string): string {
  if (rows.length === 0) return empty
  const widths = heading.map((_, column) => Math.max(...[heading, ...rows].map((row) => stringWidth(row[column]!))))
  const pad = (cell: string, column: number) => cell + ' '.repeat(widths[column]! - stringWidth(cell))
  return [heading, ...rows].map((row) => row.map(pad).join('  ').trimEnd()).join('\n')
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
