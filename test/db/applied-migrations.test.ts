import { afterAll, beforeAll, expect, test } from 'vitest'
import { readMigrationState } from '../../server/db/applied-migrations.ts'
import { createDatabaseReadiness } from '../../server/db/database-readiness.ts'
import { applyMigrations } from '../../server/db/migrations.ts'
import { run } from '../../server/db/statement.ts'
import { makeUnreleased } from '../harness/older-database.ts'
import { type TestDatabase, testDatabase } from '../harness/postgres.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.drop())

const add = (hash: string) =>
  run(database.db, 'insert into drizzle.__drizzle_migrations (hash, created_at) values ($1, 1)', [hash])
const remove = (where: string) => run(database.db, `delete from drizzle.__drizzle_migrations where ${where}`)
const readiness = () => createDatabaseReadiness(database.db)()

test('a database with all migrations is used, also when a later release has applied others', async () => {
  expect(await readMigrationState(database.db)).toBe('ok')
  await add('of a later release')
  expect(await readMigrationState(database.db)).toBe('ok')
  await applyMigrations(database.url)
  expect(await readiness()).toEqual({ database: 'ok', migrations: 'ok' })
  await remove(`hash = 'of a later release'`)
})

test('a database that lacks migrations and has others was made by an unreleased version: it gets none', async () => {
  await makeUnreleased(database.db)
  expect(await readMigrationState(database.db)).toBe('unreleased')
  expect(await readiness()).toEqual({ database: 'ok', migrations: 'unreleased' })
  await expect(applyMigrations(database.url)).rejects.toThrow(
    'The database was made by an unreleased version of Verdict. ' +
      'Restore a back-up of the last release, or use an empty database.',
  )
  expect(await readMigrationState(database.db)).toBe('unreleased')
})

test('a database that only lacks migrations waits for them', async () => {
  await remove(`hash = 'unreleased'`)
  expect(await readiness()).toEqual({ database: 'ok', migrations: 'pending' })
})
