import { fileURLToPath } from 'node:url'
import type { Database, Transaction } from './connect.ts'
import { type DatabaseFault, UnusableDatabase } from './database-fault.ts'
import { readMigrationFiles } from './drizzle.ts'
import { run } from './statement.ts'

const migrationsFolder = fileURLToPath(new URL('./migrations', import.meta.url))

/**
 * `pending`: the database lacks migrations of this version. `unreleased`: it lacks some, and has others that this
 * version does not know. Releases share one history, so no release has made it.
 */
export type MigrationState = 'ok' | 'pending' | 'unreleased'

export const MIGRATION_FAULTS: Record<Exclude<MigrationState, 'ok'>, DatabaseFault> = {
  pending: {
    what: 'The database lacks migrations of this version.',
    wayOut: 'Apply them: npm run migrate',
    canPass: true,
  },
  unreleased: {
    what: 'The database was made by an unreleased version of Verdict.',
    wayOut: 'Restore a back-up of the last release, or use an empty database.',
    canPass: false,
  },
}

let known: ReturnType<typeof readMigrationFiles> | undefined

/** The migrations of this version, the oldest first. */
export function knownMigrations() {
  known ??= readMigrationFiles({ migrationsFolder })
  return known
}

const APPLIED = 'select hash from drizzle.__drizzle_migrations'

/** The hashes of the migrations that a database has. Rejects when it was never migrated. */
export async function appliedMigrations(db: Database | Transaction): Promise<Set<string>> {
  return new Set((await run<{ hash: string }>(db, APPLIED)).map(({ hash }) => hash))
}

/**
 * Compares the migrations of a database with those of this version, as sets. A database that has all of them may have
 * others: a later release has migrated it, beside which this one still runs.
 */
export function stateOf(applied: ReadonlySet<string>): MigrationState {
  const present = knownMigrations().filter(({ hash }) => applied.has(hash)).length
  if (present === knownMigrations().length) return 'ok'
  return present === applied.size ? 'pending' : 'unreleased'
}

export async function readMigrationState(db: Database): Promise<MigrationState> {
  return stateOf(await appliedMigrations(db))
}

/** Throws for a database that this version must not touch. One that lacks migrations may still get them. */
export function refuseUnusable(state: MigrationState): void {
  if (state !== 'ok' && !MIGRATION_FAULTS[state].canPass) throw new UnusableDatabase(MIGRATION_FAULTS[state])
}
