// biome-ignore-all lint/a11y/noRedundantRoles: in the style sheet's cards, `display` takes the roles of a table away.
import { createLink } from '@tanstack/react-router'
import type { ComponentProps, MouseEvent, ReactNode } from 'react'
import { useCompactRows } from './compact-rows.ts'
import styles from './lists.module.css'

export interface Column<Row> {
  /** Heading of the column, and of the line in a card. */
  head: string
  /** Hides the heading from view: for a column of buttons. */
  quiet?: boolean
  /** Numbers are aligned right. */
  numbers?: boolean
  /** What a card shows without the heading: a text that says by itself what it is, or one for the upper right corner. */
  bare?: boolean | 'corner'
  /** Takes the width that is left. In the other columns a text from outside is cut. */
  wide?: boolean
  cell(row: Row): ReactNode
}

/** A table with more columns has less space between them. */
const MOST_COLUMNS = 5

interface RowsProps<Row> {
  label: string
  columns: Column<Row>[]
  rows: Row[]
  idOf(row: Row): string
}

/** A table, which shows a card for each row on a narrow screen. A row opens with the `RowLink` in it. */
export function Rows<Row>({ label, columns, rows, idOf }: RowsProps<Row>) {
  const [compact] = useCompactRows()
  return (
    <div className={styles.scroll}>
      <table
        className={styles.table}
        role="table"
        aria-label={label}
        data-compact={compact || undefined}
        data-many={columns.length > MOST_COLUMNS || undefined}
      >
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ head, quiet, numbers, wide }) => (
              <th
                key={head}
                role="columnheader"
                scope="col"
                className={numbers ? 'numbers' : undefined}
                data-wide={wide || undefined}
              >
                <span className={quiet ? styles.quiet : undefined}>{head}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={idOf(row)} role="row" onClick={openRow}>
              {columns.map(({ head, quiet, numbers, bare, wide, cell }) => (
                <td
                  key={head}
                  role="cell"
                  className={numbers ? 'numbers' : undefined}
                  data-head={quiet || bare ? undefined : head}
                  data-corner={bare === 'corner' || undefined}
                  data-wide={wide || undefined}
                >
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** Opens the row's link, unless the click was on something of its own or has selected text. */
function openRow(event: MouseEvent<HTMLTableRowElement>): void {
  const target = event.target as Element
  if (target.closest('a, button, input, label') || !getSelection()?.isCollapsed) return
  event.currentTarget.querySelector<HTMLAnchorElement>('a[data-row-link]')?.click()
}

/** The link that opens a row: a click anywhere in the row follows it, and `j` and `k` move between these links. */
export const RowLink = createLink((props: ComponentProps<'a'>) => (
  <a {...props} data-row-link className={styles.rowLink}>
    {props.children}
  </a>
))
