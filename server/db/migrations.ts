import { fileURLToPath } from 'node:url'
import { connect, type Database } from './connect.ts'
import { migrate, readMigrationFiles } from './drizzle.ts'

const migrationsFolder = fileURLToPath(new URL('./migrations', import.meta.url))
const LOCK = 0x7665_7264 // 'verd'

/** Applies what is missing. Processes that start together take turns by an advisory lock; a table that stays locked for 30 s fails the start. */
export async function applyMigrations(url: string): Promise<void> {
  // One connection: the lock belongs to the session that migrates.
  const db = connect(url, { connections: 1, statementMs: 0 })
  try {
    await db.$client`set lock_timeout = '30s'`
    await db.$client`select pg_advisory_lock(${LOCK})`
    await migrate(db, { migrationsFolder })
  } finally {
    await db.$client.end()
  }
}

/** Whether every migration of this version has been applied. */
export async function migrationsApplied(db: Database): Promise<boolean> {
  const known = readMigrationFiles({ migrationsFolder })
  const [row] = await db.$client`select max(created_at)::text as newest from drizzle.__drizzle_migrations`
  return Number(row?.newest ?? 0) >= known[known.length - 1]!.folderMillis
}
