import type { Database, Transaction } from './connect.ts'
import { run } from './statement.ts'

/** The advisory lock by which migrations take turns. */
export const MIGRATION_LOCK = 0x7665_7264 // 'verd'

const SESSIONS = `
  select substr(application_name, 9) as release from pg_stat_activity
  where datname = current_database() and application_name ~ '^verdict( |$)' and pid <> pg_backend_pid()
    and pid not in (select pid from pg_locks where locktype = 'advisory' and objid = ${MIGRATION_LOCK})`

/**
 * The release of each session of this product, such as `0.3.0`; empty for 0.2 and older, which do not name theirs. A
 * migration that waits for its turn is none of them.
 */
export async function readSessionReleases(db: Database | Transaction): Promise<string[]> {
  const sessions = await run<{ release: string }>(db, SESSIONS)
  return sessions.map(({ release }) => release)
}
