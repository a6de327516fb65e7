import { inTime } from '../async/timeout.ts'
import { type MigrationState, readMigrationState } from './applied-migrations.ts'
import type { Database } from './connect.ts'
import { refusalOf, type WriteRefusal } from './database-health.ts'
import { sql } from './drizzle.ts'
import { heartbeat } from './schema.ts'

export interface DatabaseReadiness {
  database: 'ok' | 'failing' | WriteRefusal
  migrations: MigrationState | 'unknown'
}

const TIMEOUT_MS = 3_000

/** Says whether the database takes writes and has the tables of this version. Answers within three seconds. */
export function createDatabaseReadiness(db: Database): () => Promise<DatabaseReadiness> {
  return async () => {
    try {
      const readiness = await inTime(checkDatabase(db), TIMEOUT_MS)
      // On a full disk the row of the heartbeat may still fit.
      return db.health.isFull() ? { ...readiness, database: 'disk_full' } : readiness
    } catch (error) {
      db.health.note(error)
      return { database: refusalOf(error) ?? 'failing', migrations: 'unknown' }
    }
  }
}

/** Writes to the database once. Rejects when a statement fails; the driver's error is the cause. */
export async function checkDatabase(db: Database): Promise<{ database: 'ok'; migrations: MigrationState }> {
  const migrations = await readMigrationState(db)
  if (migrations !== 'ok') return { database: 'ok', migrations }
  const beatAt = sql`now()`
  await db.insert(heartbeat).values({ id: 1, beatAt }).onConflictDoUpdate({ target: heartbeat.id, set: { beatAt } })
  return { database: 'ok', migrations }
}
