import { expect, test } from 'vitest'
import { checkMigrations, compareReleases } from '../../server/db/applied-migrations.ts'
import { createDatabaseReadiness } from '../../server/db/database-readiness.ts'
import { applyMigrations } from '../../server/db/migrations.ts'
import { run } from '../../server/db/statement.ts'
import { makeUnreleased, migrateLater } from '../harness/older-database.ts'
import { testDatabase } from '../harness/postgres.ts'

const database = await testDatabase()

const remove = (where: string) => run(database.db, `delete from drizzle.__drizzle_migrations where ${where}`)
const readiness = () => createDatabaseReadiness(database.db)()

const state = async () => (await checkMigrations(database.db)).state

test('a database with all migrations is used, also when a later release beside which this one runs has its own', async () => {
  expect(await state()).toBe('ok')
  await migrateLater(database.db, '0.3.0')
  expect(await state()).toBe('ok')
  await applyMigrations(database.url)
  expect(await readiness()).toEqual({ database: 'ok', migrations: 'ok' })
  await remove(`hash = 'of 0.3.0'`)
})

test('a database keeps the newest release that a migration names, and older ones refuse it', async () => {
  const [named] = await run<{ release: string }>(
    database.db,
    'select max(oldest_release) as release from drizzle.__drizzle_migrations',
  )
  expect(named).toEqual({ release: '0.3.0' })
  await migrateLater(database.db, '99.10.0')
  await migrateLater(database.db, '99.9.0')
  expect(await readiness()).toEqual({ database: 'ok', migrations: 'outgrown' })
  await expect(applyMigrations(database.url)).rejects.toThrow(
    /^The database needs Verdict 99\.10\.0 or later, and this is \d+\.\d+\.\d+\. Use that release, or restore a back-up/,
  )
  await remove(`hash like 'of 99%'`)
  expect(await state()).toBe('ok')
})

test('releases are in the order of their numbers', () => {
  const releases = ['', '0.2.0', '0.3.0', '0.3.2', '0.3.10', '0.10.0', '1.0.0', '10.0.0']
  expect(releases.toReversed().toSorted(compareReleases)).toEqual(releases)
})

test('a database that lacks migrations and has others was made by an unreleased version: it gets none', async () => {
  await makeUnreleased(database.db)
  expect(await readiness()).toEqual({ database: 'ok', migrations: 'unreleased' })
  await expect(applyMigrations(database.url)).rejects.toThrow(
    'The database was made by an unreleased version of Verdict. ' +
      'Restore a back-up of the last release, or use an empty database.',
  )
  expect(await state()).toBe('unreleased')
})

test('a database that only lacks migrations waits for them', async () => {
  await remove(`hash = 'unreleased'`)
  expect(await readiness()).toEqual({ database: 'ok', migrations: 'pending' })
})
