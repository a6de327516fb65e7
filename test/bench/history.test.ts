import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { fillYesterday } from '../../bench/load/history.ts'
import type { Table } from '../../bench/load/history-rows.ts'
import { HISTORY } from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { testDatabase } from '../harness/postgres.ts'

const database = await testDatabase()

test('the benches generate rows for every table of history, as its columns demand', async () => {
  const tables = Object.keys(HISTORY) as Table[]
  await fillYesterday(database.url, { big: randomUUID(), quiet: randomUUID(), messages: 40, tables, counts: true })
  const counted = tables.map(async (table) => {
    const [row] = await run<{ rows: number }>(database.db, `select count(*)::int as rows from ${table}`)
    return [table, row!.rows] as const
  })
  const { messages, ...others } = Object.fromEntries(await Promise.all(counted))
  expect(messages).toBe(40)
  for (const rows of Object.values(others)) expect(rows).toBeGreaterThanOrEqual(40)
})
