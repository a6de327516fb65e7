export interface ListPage<Row> {
  rows: Row[]
  /** Cursor of the next page; undefined on the last one. */
  next: string | undefined
}

interface ShownRows {
  /** The ids of the rows that are shown. */
  ids: Set<string>
  /** Whether there are older rows that are not shown. */
  hasMore: boolean
}

export interface NewRows<Row> {
  /** From the newest row down to the last one that is shown, too. */
  rows: Row[]
  /** How many of them are not shown. */
  count: number
  /** Whether there are rows between these and those that are shown. */
  gap: boolean
}

/** Finds the new rows in what was loaded later, newest first. Rows below those that are shown are older, not new. */
export function newRowsOf<Row>(newest: ListPage<Row>, shown: ShownRows, idOf: (row: Row) => string): NewRows<Row> {
  const isShown = (row: Row) => shown.ids.has(idOf(row))
  const end = newest.rows.findLastIndex(isShown) + 1
  const rows = end > 0 && shown.hasMore ? newest.rows.slice(0, end) : newest.rows
  const count = rows.filter((row) => !isShown(row)).length
  return { rows, count, gap: end === 0 && newest.next !== undefined }
}

/** The pages with new rows on top. With a gap only the first page is kept: it has to be loaded again. */
export function withNewRows<Row>(pages: ListPage<Row>[], { rows, gap }: NewRows<Row>, idOf: (row: Row) => string) {
  if (gap) return pages.slice(0, 1)
  const known = new Set(rows.map(idOf))
  const older = (page: ListPage<Row>) => ({ ...page, rows: page.rows.filter((row) => !known.has(idOf(row))) })
  return pages.map(older).map((page, i) => (i === 0 ? { ...page, rows: [...rows, ...page.rows] } : page))
}
