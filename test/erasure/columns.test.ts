import { readFileSync } from 'node:fs'
import type { PgArray, PgColumn, PgTable } from 'drizzle-orm/pg-core'
import { expect, test } from 'vitest'
import { getTableConfig } from '../../server/db/drizzle.ts'
import * as peopleSchema from '../../server/db/people-schema.ts'
import * as schema from '../../server/db/schema.ts'
import { PLACES } from '../../server/erasure/places.ts'

// Any column with text or bytes may contain an address. A new one fails here until an erasure searches it, or
// docs/erasure.md says why it does not.

/** Column types that cannot hold an address. All others can, also those that no table uses yet. */
const WITHOUT_TEXT = /^(uuid|boolean|smallint|integer|bigint|real|double precision|numeric|date|timestamp\b.*)$/

const TABLE = Symbol.for('drizzle:IsDrizzleTable')
const isTable = (value: unknown) => typeof value === 'object' && value !== null && TABLE in value

const columns = Object.values({ ...schema, ...peopleSchema })
  .filter(isTable)
  .map((table) => getTableConfig(table as PgTable))
  .flatMap(({ name, columns }) => columns.map((column) => ({ table: name, column })))
  .filter(({ column }) => !hasFixedValues(column) && !WITHOUT_TEXT.test(column.getSQLType()))
  .map(({ table, column }) => `${table}.${column.name}`)

function hasFixedValues(column: PgColumn): boolean {
  const { enumValues } = (column as PgArray<never, never>).baseColumn ?? column
  return enumValues !== undefined
}

const searched = PLACES.flatMap(({ table, columns }) => Object.keys(columns).map((column) => `${table}.${column}`))

const guide = readFileSync('docs/erasure.md', 'utf8')
const [, section = ''] = guide.split('## Columns that are not searched')
const named = [...section.split('\n## ')[0]!.matchAll(/`(\w+\.\w+)`/g)].map(([, column]) => column!)

test('an erasure searches every column that can hold text, or the guide says why not', () => {
  expect(columns.length).toBeGreaterThan(60)
  expect(columns.filter((column) => !searched.includes(column) && !named.includes(column))).toEqual([])
})

test('the guide names no column that an erasure searches, and none that does not exist', () => {
  expect(named.filter((column) => searched.includes(column) || !columns.includes(column))).toEqual([])
  expect(searched.filter((column) => !columns.includes(column))).toEqual([])
  expect(new Set(named).size).toBe(named.length)
})
