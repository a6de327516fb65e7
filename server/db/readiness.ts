import { inTime } from '../in-time.ts'
import type { Database } from './connect.ts'
import { migrationsApplied } from './migrations.ts'

export interface Readiness {
  database: 'ok' | 'failing'
  migrations: 'ok' | 'pending' | 'unknown'
}

const TIMEOUT_MS = 3_000
const FAILING: Readiness = { database: 'failing', migrations: 'unknown' }

/** Whether the database takes writes and has the tables of this version. Answers within three seconds. */
export function databaseReadiness(db: Database): () => Promise<Readiness> {
  return () => inTime(checkDatabase(db), TIMEOUT_MS).catch(() => FAILING)
}

/** Writes to the database once. Rejects with the error of the driver. */
export async function checkDatabase(db: Database): Promise<Readiness> {
  const migrations = (await migrationsApplied(db)) ? 'ok' : 'pending'
  if (migrations === 'pending') return { database: 'ok', migrations }
  await db.$client`
    insert into heartbeat (id, beat_at) values (1, now()) on conflict (id) do update set beat_at = excluded.beat_at`
  return { database: 'ok', migrations }
}
