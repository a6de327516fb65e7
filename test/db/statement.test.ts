import { afterAll, expect, test } from 'vitest'
import { connect } from '../../server/db/connect.ts'
import { accounts } from '../../server/db/schema.ts'
import { one, run, uuidArray } from '../../server/db/statement.ts'
import { testDatabase } from '../harness/postgres.ts'

const database = await testDatabase()
const db = connect(database.url, { connections: 1 })
afterAll(() => db.$client.end({ timeout: 5 }))

const ID = '01a1fdad-841e-72ac-928b-11eba8284d67'

test('a statement with parameters is prepared unless told otherwise', async () => {
  await run(db, 'select $1::int as kept', [1])
  await run(db, 'select $1::int as planned_each_time', [1], { prepare: false })
  const prepared = await run<{ statement: string }>(db, 'select statement from pg_prepared_statements')
  expect(prepared.map(({ statement }) => statement)).toContain('select $1::int as kept')
  expect(prepared.map(({ statement }) => statement)).not.toContain('select $1::int as planned_each_time')
})

test('a statement takes an array of UUIDs', async () => {
  const rows = await run<{ id: string }>(db, 'select unnest($1::uuid[]) as id', [uuidArray([ID, ID])])
  expect(rows.map(({ id }) => id)).toEqual([ID, ID])
  expect(await run(db, 'select unnest($1::uuid[]) as id', [uuidArray([])])).toHaveLength(0)
})

test('a statement that returns other than one row is named, without its parameters', async () => {
  expect(one(await run<{ ten: number }>(db, 'select 10 as ten'))).toEqual({ ten: 10 })
  const none = await run(db, 'select name from accounts where name = $1', ['Ann'])
  expect(() => one(none)).toThrow('0 rows instead of one: select name from accounts where name = $1')
  const two = await run(db, 'select generate_series(1, 2)')
  expect(() => one(two)).toThrow('2 rows instead of one: select generate_series(1, 2)')
})

test('a statement that is given a transaction runs inside it', async () => {
  const rollBack = new Error('roll back')
  const transaction = db.$client.begin(async (tx) => {
    await run(tx, `insert into accounts (id, name) values ($1, 'Ann')`, [ID])
    throw rollBack
  })
  await expect(transaction).rejects.toBe(rollBack)
  expect((await run(db, 'select id from accounts where id = $1', [ID])).count).toBe(0)
})

test("a statement that is given a transaction of Drizzle's runs inside it", async () => {
  const rollBack = new Error('roll back')
  const transaction = db.transaction(async (tx) => {
    await run(tx, `insert into accounts (id, name) values ($1, 'Ann')`, [ID])
    expect((await tx.select().from(accounts)).length).toBe(1)
    throw rollBack
  })
  await expect(transaction).rejects.toBe(rollBack)
  expect((await run(db, 'select id from accounts where id = $1', [ID])).count).toBe(0)
})
