import { randomBytes } from 'node:crypto'
import postgres from 'postgres'
import { inject } from 'vitest'
import { connect, type Database } from '../../server/db/connect.ts'
import { applyMigrations } from '../../server/db/migrations.ts'

export interface TestDatabase {
  url: string
  db: Database
  drop(): Promise<void>
}

/** A migrated database of its own on the suite's Postgres (see global-postgres.ts). Drop it in `afterAll`. */
export async function testDatabase(): Promise<TestDatabase> {
  const server = inject('postgresUrl')
  const name = `test_${randomBytes(6).toString('hex')}`
  const admin = postgres(server, { max: 1, onnotice: () => {} })
  await admin.unsafe(`create database ${name}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  await applyMigrations(url.href)
  const db = connect(url.href)
  return {
    url: url.href,
    db,
    drop: async () => {
      await db.$client.end({ timeout: 5 })
      await admin.unsafe(`drop database if exists ${name} with (force)`)
      await admin.end()
    },
  }
}
