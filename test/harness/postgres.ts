import { randomBytes } from 'node:crypto'
import postgres from 'postgres'
import { inject } from 'vitest'
import { connect, type Database } from '../../server/db/connect.ts'
import { databaseAt } from './template.ts'
import { atEnd } from './until-end.ts'

export interface TestDatabase {
  url: string
  db: Database
}

/**
 * Creates a migrated database with partitions on the run's Postgres (see global-postgres.ts), or one without tables
 * from `template1`. It is dropped with its test or file.
 */
export async function testDatabase(template = inject('templateDatabase')): Promise<TestDatabase> {
  const server = inject('postgresUrl')
  const name = `test_${randomBytes(6).toString('hex')}`
  const admin = postgres(server, { max: 1, onnotice: () => {} })
  await admin.unsafe(`create database ${name} template ${template}`)
  const url = databaseAt(server, name)
  const db = connect(url)
  atEnd(async () => {
    await db.$client.end({ timeout: 5 })
    await admin.unsafe(`drop database if exists ${name} with (force)`)
    await admin.end()
  })
  return { url, db }
}
