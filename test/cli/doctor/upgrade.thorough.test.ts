import postgres from 'postgres'
import { expect, test } from 'vitest'
import { examine } from '../../../cli/doctor/examine.ts'
import { createPatient } from '../../../cli/doctor/patient.ts'
import { UPGRADE_GROUPS } from '../../../cli/doctor/upgrade.ts'
import { applyMigrations } from '../../../server/db/migrations.ts'
import { makeUnreleased, migrateFirst } from '../../harness/older-database.ts'
import { testDatabase } from '../../harness/postgres.ts'
import { PREVIOUS_RELEASE } from '../../releases.ts'
import { ENCRYPTION_KEYS } from './patients.ts'

// `verdict upgrade check` of this release, from the database of the one before to a complete upgrade.

const { url, db } = await testDatabase('template1')

const COUNT_OF_0_2 = Number(/^\d+/.exec(PREVIOUS_RELEASE.lastMigration)![0]) + 1

async function check() {
  const patient = createPatient({ DATABASE_URL: url, ENCRYPTION_KEYS }, undefined)
  const results = await examine(patient, UPGRADE_GROUPS).finally(() => patient.close())
  return Object.fromEntries(results.map(({ name, state, seen, wayOut }) => [name, { state, seen, wayOut }]))
}

async function sessionOf(release: string): Promise<postgres.Sql> {
  const sql = postgres(url, { max: 1, connection: { application_name: `verdict${release}` } })
  await sql`select 1`
  return sql
}

test('an upgrade that stops once asks to stop the old processes, and afterwards names those that still run', async () => {
  await migrateFirst(db, COUNT_OF_0_2)
  await db.$client.end()
  const old = await sessionOf('')
  expect(await check()).toMatchObject({
    migrations: { state: 'ok', seen: '1 to apply: npm run migrate' },
    releases: {
      state: 'warning',
      seen: '1 session of 0.2 or older: they cannot run on the new tables, and the migration refuses to begin beside them',
      wayOut: expect.stringContaining('stop every API and worker process of that release'),
    },
    locks: { state: 'ok' },
    transactions: { state: 'ok' },
    space: { state: 'ok' },
    backup: { state: 'skipped' },
  })
  await old.end()
  expect(await check()).toMatchObject({ releases: { state: 'ok' } })
  await applyMigrations(url)
  const neighbour = await sessionOf(' 0.3.1')
  expect(await check()).toMatchObject({
    migrations: { state: 'ok', seen: 'all applied' },
    releases: { state: 'warning', seen: '1 session of 0.3.1' },
  })
  await neighbour.end()
  expect(await check()).toMatchObject({ releases: { state: 'ok' } })
})

test('a database with migrations that this release does not know is refused, with the way out', async () => {
  const other = await testDatabase()
  await makeUnreleased(other.db)
  const patient = createPatient({ DATABASE_URL: other.url, ENCRYPTION_KEYS }, undefined)
  const results = await examine(patient, UPGRADE_GROUPS).finally(() => patient.close())
  expect(results.find(({ name }) => name === 'migrations')).toMatchObject({
    state: 'failed',
    seen: 'The database was made by an unreleased version of Verdict',
  })
})

test('an unreachable database fails, and no other variable of production is needed', async () => {
  const patient = createPatient({ DATABASE_URL: 'postgres://127.0.0.1:1/none', NODE_ENV: 'production' }, undefined)
  const results = await examine(patient, UPGRADE_GROUPS).finally(() => patient.close())
  const states = Object.fromEntries(results.map(({ name, state }) => [name, state]))
  expect(states).toMatchObject({ database: 'failed', migrations: 'skipped', releases: 'skipped' })
})
