import { fileURLToPath } from 'node:url'
import { connect, type Database, type Transaction } from './connect.ts'
import { readMigrationFiles } from './drizzle.ts'
import { CREATE_DATABASE, textFault } from './encoding.ts'
import { run } from './statement.ts'

const migrationsFolder = fileURLToPath(new URL('./migrations', import.meta.url))
const LOCK = 0x7665_7264 // 'verd'

const NEWEST = 'select max(created_at)::float8 as "createdMs" from drizzle.__drizzle_migrations'

/** Drizzle's table, as its migrator makes it. */
const TABLE = `
  create schema if not exists drizzle;
  create table if not exists drizzle.__drizzle_migrations (
    id serial primary key, hash text not null, created_at bigint)`

const APPLIED = 'insert into drizzle.__drizzle_migrations (hash, created_at) values ($1, $2)'

// A pooler gives each transaction another session, so the settings and the lock last as long as the transaction.
const SETTINGS = `select set_config('lock_timeout', '30s', true), set_config('statement_timeout', '0', true)`

/**
 * Applies the missing migrations in one transaction. Processes that start together take turns by an advisory lock. A
 * table that stays locked for 30 s fails the start. Throws for an empty database that could not hold every message.
 */
export async function applyMigrations(url: string): Promise<void> {
  const db = connect(url, { connections: 1, statementMs: 0 })
  try {
    await db.transaction(async (tx) => {
      await run(tx, SETTINGS)
      await run(tx, 'select pg_advisory_xact_lock($1)', [LOCK])
      await applyMissing(tx)
    })
  } finally {
    await db.$client.end()
  }
}

/** Does what Drizzle's migrator does, which begins a transaction of its own. */
async function applyMissing(tx: Transaction): Promise<void> {
  await run(tx, TABLE)
  const [applied] = await run<{ createdMs: number | null }>(tx, NEWEST)
  const fault = applied?.createdMs ? undefined : await textFault(tx)
  if (fault) throw new Error(`${fault}. Drop it, and create it with: ${CREATE_DATABASE}`)
  for (const { folderMillis, sql, hash } of readMigrationFiles({ migrationsFolder })) {
    if (folderMillis <= (applied?.createdMs ?? 0)) continue
    for (const statement of sql) await run(tx, statement)
    await run(tx, APPLIED, [hash, folderMillis])
  }
}

/** Whether every migration of this version has been applied. */
export async function migrationsApplied(db: Database): Promise<boolean> {
  const newest = readMigrationFiles({ migrationsFolder }).at(-1)!
  const [applied] = await run<{ createdMs: number | null }>(db, NEWEST)
  return (applied?.createdMs ?? 0) >= newest.folderMillis
}
