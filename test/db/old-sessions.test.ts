import { fileURLToPath } from 'node:url'
import postgres from 'postgres'
import { afterAll, expect, test } from 'vitest'
import { readMigrationFiles } from '../../server/db/drizzle.ts'
import { applyMigrations } from '../../server/db/migrations.ts'
import { testDatabase } from '../harness/postgres.ts'
import { PREVIOUS_RELEASE } from '../releases.ts'

const migrationsFolder = fileURLToPath(new URL('../../server/db/migrations', import.meta.url))
const { url, drop } = await testDatabase('template1')
afterAll(drop)

/** A connection with the name that the processes of a release give theirs. */
const session = (application_name: string) =>
  postgres(url, { max: 1, onnotice: () => {}, connection: { application_name } })

const TABLE = `
  create schema drizzle;
  create table drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)`

/** The tables of release 0.2. */
async function migrateTo02(): Promise<void> {
  const count = Number(/^\d+/.exec(PREVIOUS_RELEASE.lastMigration)![0]) + 1
  const sql = session('psql')
  await sql.begin(async (tx) => {
    await tx.unsafe(TABLE)
    for (const migration of readMigrationFiles({ migrationsFolder }).slice(0, count)) {
      for (const statement of migration.sql) await tx.unsafe(statement)
      const { hash, folderMillis } = migration
      await tx`insert into drizzle.__drizzle_migrations (hash, created_at) values (${hash}, ${folderMillis})`
    }
  })
  await sql.end()
}

async function applied(sql: postgres.Sql): Promise<number> {
  const [row] = await sql<{ count: number }[]>`select count(*)::int as count from drizzle.__drizzle_migrations`
  return row!.count
}

test('npm run migrate refuses while a process of 0.2 uses the database, and runs once it has stopped', async () => {
  await migrateTo02()
  const old = session('verdict')
  await old`select 1`
  await expect(applyMigrations(url)).rejects.toThrow(
    /^processes of Verdict 0\.2 or older use the database \(sessions: 1\)\..* stop every API and worker process/,
  )
  const before = await applied(old)
  await old.end()
  // Two that start together take turns, and sessions of other programs do not count.
  const other = session('psql')
  await other`select 1`
  await Promise.all([applyMigrations(url), applyMigrations(url)])
  expect(await applied(other)).toBeGreaterThan(before)

  // From then on releases run beside each other: sessions of any release do not matter.
  const neighbour = session('verdict 0.3.1')
  await neighbour`select 1`
  await applyMigrations(url)
  await Promise.all([other.end(), neighbour.end()])
})
