import { readFileSync } from 'node:fs'
import type { PgTable } from 'drizzle-orm/pg-core'
import { expect, test } from 'vitest'
import { connect } from '../../server/db/connect.ts'
import { getTableConfig } from '../../server/db/drizzle.ts'
import { makePartitions } from '../../server/db/partitions.ts'
import * as peopleSchema from '../../server/db/people-schema.ts'
import * as schema from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { testDatabase } from '../harness/postgres.ts'
import { RETIRED_COLUMNS } from '../releases.ts'

const database = await testDatabase()

const {
  HISTORY,
  EVERYBODY,
  MAX_ENDPOINTS,
  STATS_COUNTS,
  GROUP_COUNTS,
  at,
  bytea,
  count,
  checkOneOf: oneOf,
  ...tables
} = schema
const { ROLES, TROUBLE_KINDS, LETTER_KINDS, NOTICE_KINDS, ...tablesOfPeople } = peopleSchema
const configs = Object.values({ ...tables, ...tablesOfPeople }).map((table) => getTableConfig(table as PgTable))

const COLUMNS = `
  select c.relname as table, a.attname as name, format_type(a.atttypid, a.atttypmod) as type, a.attnotnull as "notNull"
  from pg_attribute a join pg_class c on c.oid = a.attrelid
  where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and a.attnum > 0
    and not a.attisdropped`

test('a migrated database has the columns of schema.ts and no others', async () => {
  const rows = await run<{ table: string; name: string; type: string; notNull: boolean }>(database.db, COLUMNS)
  const migrated = rows.map((row) => `${row.table}.${row.name} ${row.type}${row.notNull ? ' not null' : ''}`)
  const declared = configs.flatMap(({ name, columns, primaryKeys }) => {
    const keyColumns = new Set(primaryKeys.flatMap((key) => key.columns.map((column) => column.name)))
    return columns.map((column) => {
      const type = column.getSQLType().replace(/^timestamp \(3\)/, 'timestamp(3)')
      return `${name}.${column.name} ${type}${column.notNull || keyColumns.has(column.name) ? ' not null' : ''}`
    })
  })
  expect(migrated.sort()).toEqual([...declared, ...RETIRED_COLUMNS].sort())
})

const INDEXES_AND_CHECKS = `
  select i.indexrelid::regclass::text as name from pg_index i join pg_class c on c.oid = i.indrelid
  where c.relnamespace = 'public'::regnamespace and not c.relispartition and not i.indisprimary
  union all
  select conname from pg_constraint k join pg_class c on c.oid = k.conrelid
  where contype = 'c' and c.relnamespace = 'public'::regnamespace and not c.relispartition`

test('a migrated database has the indexes and checks of schema.ts and no others', async () => {
  const rows = await run<{ name: string }>(database.db, INDEXES_AND_CHECKS)
  const declared = configs.flatMap(({ indexes, checks }) => [
    ...indexes.map((index) => index.config.name!),
    ...checks.map((check) => check.name),
  ])
  expect(rows.map((row) => row.name).sort()).toEqual(declared.sort())
})

const CHECKS = `
  select conname as name, pg_get_constraintdef(k.oid) as check from pg_constraint k join pg_class c on c.oid = k.conrelid
  where contype = 'c' and c.relnamespace = 'public'::regnamespace and not c.relispartition`

test('a migrated database allows the words of each column that schema.ts allows', async () => {
  const rows = await run<{ name: string; check: string }>(database.db, CHECKS)
  const wordsOf = (text: string) => [...text.matchAll(/'([^']*)'/g)].map(([, word]) => word).sort()
  const migrated = Object.fromEntries(rows.map(({ name, check }) => [name, wordsOf(check)]))
  const declared = configs.flatMap(({ checks }) =>
    checks.flatMap(({ name, value }) => {
      const text = value.queryChunks.flatMap((chunk) => (chunk as { value?: string[] }).value ?? []).join('')
      return /^\w+ in \(/.test(text) ? [[name, wordsOf(text)] as const] : []
    }),
  )
  expect(declared.length).toBeGreaterThan(20)
  expect(Object.fromEntries(declared.map(([name]) => [name, migrated[name]]))).toEqual(Object.fromEntries(declared))
})

test('docs/retention.md says of every table of a migrated database what bounds it', async () => {
  const rows = await run<{ table: string }>(database.db, COLUMNS)
  const listed = [...readFileSync('docs/retention.md', 'utf8').matchAll(/^\| `(\w+)` +\| \S/gm)].map(
    ([, table]) => table,
  )
  expect(listed).toEqual([...new Set(rows.map(({ table }) => table))].toSorted())
})

test('the history tables are partitioned by the day, seven days ahead, without a default partition', async () => {
  for (const table of Object.keys(HISTORY)) await dropPartitions(table)
  // Processes that start together create them at the same time.
  const others = [connect(database.url), connect(database.url)]
  await Promise.all([database.db, ...others].map((db) => makePartitions(db)))
  await Promise.all(others.map((db) => db.$client.end()))
  await makePartitions(database.db)
  const [today] = await run<{ day: string }>(database.db, `select to_char(now() at time zone 'utc', 'YYYYMMDD') as day`)
  for (const table of Object.keys(HISTORY)) {
    const rows = await run<{ name: string; bound: string }>(database.db, PARTITIONS, [table])
    expect(rows).toHaveLength(9)
    expect(rows.some((row) => row.bound === 'DEFAULT')).toBe(false)
    expect(rows[1]!.name).toBe(`${table}_${today!.day}`)
  }
})

const PARTITIONS = `
  select c.relname as name, pg_get_expr(c.relpartbound, c.oid) as bound from pg_inherits i
  join pg_class c on c.oid = i.inhrelid where i.inhparent = $1::text::regclass order by 1`

async function dropPartitions(table: string): Promise<void> {
  const partitions = await run<{ name: string }>(database.db, PARTITIONS, [table])
  for (const { name } of partitions) await run(database.db, `drop table ${name}`)
}
