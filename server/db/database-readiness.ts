import { inTime } from '../async/timeout.ts'
import { checkMigrations, type MigrationCheck } from './applied-migrations.ts'
import type { Database } from './connect.ts'
import { refusalOf, type WriteRefusal } from './database-health.ts'
import { sql } from './drizzle.ts'
import { primaryHeartbeat } from './schema.ts'

export interface DatabaseReadiness {
  database: 'ok' | 'failing' | WriteRefusal
  migrations: MigrationCheck['state'] | 'unknown'
}

const TIMEOUT_MS = 3_000

/** Says whether the database takes writes and has the tables of this version. Answers within three seconds. */
export function createDatabaseReadiness(db: Database): () => Promise<DatabaseReadiness> {
  return async () => {
    try {
      const { state } = await inTime(checkDatabase(db), TIMEOUT_MS)
      // On a full disk the row of the heartbeat may still fit.
      return { database: db.health.isFull() ? 'disk_full' : 'ok', migrations: state }
    } catch (error) {
      db.health.note(error)
      return { database: refusalOf(error) ?? 'failing', migrations: 'unknown' }
    }
  }
}

/**
 * Writes to the database once, when it has the tables of this version. Rejects when a statement fails; the driver's
 * error is the cause.
 */
export async function checkDatabase(db: Database): Promise<MigrationCheck> {
  const migrations = await checkMigrations(db)
  if (migrations.state !== 'ok') return migrations
  const beatAt = sql`now()`
  const { id } = primaryHeartbeat
  await db.insert(primaryHeartbeat).values({ id: 1, beatAt }).onConflictDoUpdate({ target: id, set: { beatAt } })
  return migrations
}
