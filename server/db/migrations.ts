import { fileURLToPath } from 'node:url'
import { connect, type Database } from './connect.ts'
import { migrate, readMigrationFiles } from './drizzle.ts'
import { run } from './statement.ts'

const migrationsFolder = fileURLToPath(new URL('./migrations', import.meta.url))
const LOCK = 0x7665_7264 // 'verd'

/**
 * Applies the missing migrations. Processes that start together take turns by an advisory lock. A table that stays
 * locked for 30 s fails the start.
 */
export async function applyMigrations(url: string): Promise<void> {
  // One connection: the lock belongs to the session that migrates.
  const db = connect(url, { connections: 1, statementMs: 0 })
  try {
    await run(db, `set lock_timeout = '30s'`)
    await run(db, 'select pg_advisory_lock($1)', [LOCK])
    await migrate(db, { migrationsFolder })
  } finally {
    await db.$client.end()
  }
}

const NEWEST = 'select max(created_at)::float8 as "createdMs" from drizzle.__drizzle_migrations'

/** Whether every migration of this version has been applied. */
export async function migrationsApplied(db: Database): Promise<boolean> {
  const newest = readMigrationFiles({ migrationsFolder }).at(-1)!
  const [applied] = await run<{ createdMs: number | null }>(db, NEWEST)
  return (applied?.createdMs ?? 0) >= newest.folderMillis
}
