import { Skeleton } from '@mantine/core'
import { Loading } from '../feedback/loading.tsx'
import styles from './lists.module.css'
import { type Column, Rows } from './rows.tsx'

interface LoadingRowsProps<Row> {
  /** Those of the table that loads. */
  columns: Column<Row>[]
  rows?: number
}

/** A table that loads: its headings, and rows of the usual height. */
export function LoadingRows<Row>({ columns, rows = 8 }: LoadingRowsProps<Row>) {
  const shown = columns.map(
    ({ cell: _, ...column }, place): Column<number> => ({
      ...column,
      cell: (row) => <Skeleton className={styles.cell} height={12} width={widthOf(column, row + place)} />,
    }),
  )
  return (
    <Loading>
      <Rows label="Loading" columns={shown} rows={Array.from({ length: rows }, (_, row) => row)} idOf={String} />
    </Loading>
  )
}

function widthOf({ wide, quiet }: Pick<Column<never>, 'wide' | 'quiet'>, seed: number): string | number {
  if (quiet) return 48
  return wide ? `${80 - ((seed * 17) % 40)}%` : 56 + ((seed * 23) % 48)
}
