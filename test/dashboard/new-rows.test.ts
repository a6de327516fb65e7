import { expect, test } from 'vitest'
import { newRowsOf, withNewRows } from '../../dashboard/lists/new-rows.ts'

const idOf = (row: string) => row
const shown = (rows: string, hasMore = true) => ({ ids: new Set(rows), hasMore })
const newest = (rows: string, next?: string) => ({ rows: [...rows], next })

test('rows above and between those that are shown are new; those below are older', () => {
  const found = newRowsOf(newest('zydcba'), shown('ydc'), idOf)
  expect(found).toEqual({ rows: ['z', 'y', 'd', 'c'], count: 1, gap: false })
  expect(newRowsOf(newest('yxd'), shown('yd'), idOf)).toMatchObject({ count: 1, gap: false })
  expect(newRowsOf(newest('ydcb'), shown('ydc'), idOf).count).toBe(0)
})

test('in a list without further pages every row that is not shown is new', () => {
  expect(newRowsOf(newest('yda'), shown('yd', false), idOf).count).toBe(1)
  expect(newRowsOf(newest('a'), shown('', false), idOf)).toEqual({ rows: ['a'], count: 1, gap: false })
})

test('when no row is known and there are more, rows are missing between', () => {
  expect(newRowsOf(newest('zyx', 'more'), shown('dcb'), idOf)).toMatchObject({ count: 3, gap: true })
  expect(newRowsOf(newest('zyx'), shown('dcb'), idOf).gap).toBe(false)
})

test('new rows come into their places, each row once', () => {
  const pages = [
    { rows: ['y', 'd'], next: '2' },
    { rows: ['c', 'b'], next: undefined },
  ]
  const found = newRowsOf(newest('zyxdc'), shown('ydcb'), idOf)
  expect(withNewRows(pages, found, idOf)).toEqual([
    { rows: ['z', 'y', 'x', 'd', 'c'], next: '2' },
    { rows: ['b'], next: undefined },
  ])
  expect(withNewRows(pages, { rows: ['z'], count: 1, gap: true }, idOf)).toEqual([pages[0]])
})
