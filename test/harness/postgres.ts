import { randomBytes } from 'node:crypto'
import postgres from 'postgres'
import { inject } from 'vitest'
import { connect, type Database } from '../../server/db/connect.ts'
import { databaseAt } from './template.ts'

export interface TestDatabase {
  url: string
  db: Database
  drop(): Promise<void>
}

/**
 * Creates a migrated database with partitions on the run's Postgres (see global-postgres.ts), or one without tables
 * from `template1`. Drop it in `afterAll`.
 */
export async function testDatabase(template = inject('templateDatabase')): Promise<TestDatabase> {
  const server = inject('postgresUrl')
  const name = `test_${randomBytes(6).toString('hex')}`
  const admin = postgres(server, { max: 1, onnotice: () => {} })
  await admin.unsafe(`create database ${name} template ${template}`)
  const url = databaseAt(server, name)
  const db = connect(url)
  return {
    url,
    db,
    drop: async () => {
      await db.$client.end({ timeout: 5 })
      await admin.unsafe(`drop database if exists ${name} with (force)`)
      await admin.end()
    },
  }
}
