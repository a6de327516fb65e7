import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { ErrorState } from '../feedback/error-state.tsx'
import type { CursorList } from './cursor-list.ts'
import styles from './lists.module.css'
import { LoadingRows } from './loading-rows.tsx'
import { type Column, Rows } from './rows.tsx'

interface ListProps<Row> {
  list: CursorList<Row>
  label: string
  columns: Column<Row>[]
  idOf(row: Row): string
  /** Shown in the place of an empty list. */
  empty: ReactNode
}

/** A list by cursor: its rows, the bar of new ones, and the button for more. */
export function List<Row>({ list, label, columns, idOf, empty }: ListProps<Row>) {
  if (list.error && !list.rows) return <ErrorState error={list.error} retry={list.retry} />
  if (!list.rows) return <LoadingRows columns={columns} />
  return (
    <>
      <div aria-live="polite">
        {list.newRows > 0 && (
          <button type="button" className={styles.newBar} onClick={list.showNew}>
            Show {list.newRows}
            {list.moreNewRows && '+'} new
          </button>
        )}
      </div>
      {list.rows.length === 0 ? empty : <Rows label={label} columns={columns} rows={list.rows} idOf={idOf} />}
      {list.hasMore && (
        <Button variant="default" onClick={list.loadMore} loading={list.isLoadingMore} className={styles.more}>
          Load more
        </Button>
      )}
    </>
  )
}
