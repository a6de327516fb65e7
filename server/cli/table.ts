/** Rows in aligned columns, the first row being the heading; `empty` when there is nothing under it. */
export function table(heading: string[], rows: string[][], empty: string): string {
  if (rows.length === 0) return empty
  const widths = heading.map((_, column) => Math.max(...[heading, ...rows].map((row) => row[column]!.length)))
  return [heading, ...rows]
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** A moment to the minute, in UTC. */
export function moment(at: Date | null): string {
  return at ? `${at.toISOString().slice(0, 16).replace('T', ' ')}Z` : '-'
}
