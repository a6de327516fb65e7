import { fileURLToPath } from 'node:url'
import packageJson from '../../package.json' with { type: 'json' }
import type { Database, Transaction } from './connect.ts'
import { type DatabaseFault, UnusableDatabase } from './database-fault.ts'
import { readMigrationFiles } from './drizzle.ts'
import { run } from './statement.ts'

const migrationsFolder = fileURLToPath(new URL('./migrations', import.meta.url))

/** The first migrations belong to releases up to 0.2, which did not look for a newer release's migration. */
const MIGRATIONS_OF_0_2 = 14

export interface Migration {
  hash: string
  folderMillis: number
  sql: string[]
  /** Older releases may not run on a database that has this migration. */
  oldestRelease: string | undefined
}

/**
 * `pending`: the database lacks migrations of this version. `unreleased`: it lacks some, and has others that this
 * version does not know. Releases share one history, so no release has made it. `outgrown`: a migration of a later
 * release took away what this version uses.
 */
export type MigrationCheck = { state: 'ok' } | { state: 'pending' | 'unreleased' | 'outgrown'; fault: DatabaseFault }

const PENDING: DatabaseFault = {
  what: 'The database lacks migrations of this version.',
  wayOut: 'Apply them: npm run migrate',
  canPass: true,
}

export const UNRELEASED: DatabaseFault = {
  what: 'The database was made by an unreleased version of Verdict.',
  wayOut: 'Restore a back-up of the last release, or use an empty database.',
  canPass: false,
}

const outgrown = (oldestRelease: string): DatabaseFault => ({
  what: `The database needs Verdict ${oldestRelease} or later, and this is ${packageJson.version}.`,
  wayOut: 'Use that release, or restore a back-up from before its migration.',
  canPass: false,
})

const numerically = new Intl.Collator('en', { numeric: true })

/** Orders versions such as 0.9.0 and 0.10.0. */
export const compareReleases = (a: string, b: string): number => numerically.compare(a, b)

/** The newest of several versions; undefined without any. */
export function newestRelease(releases: Iterable<string | undefined>): string | undefined {
  return [...releases]
    .filter((release) => release !== undefined)
    .toSorted(compareReleases)
    .at(-1)
}

/** Reads the line of a migration that names the oldest release. Throws for a migration without it. */
export function oldestReleaseOf(sql: string): string {
  const release = /^-- Oldest release that may run on it: (\d+\.\d+\.\d+)$/m.exec(sql)?.[1]
  if (release) return release
  throw new Error(
    'A migration does not name the oldest release that may run on it. ' +
      'Begin its file with: -- Oldest release that may run on it: <version>',
  )
}

let known: Migration[] | undefined

/** The migrations of this version, the oldest first. */
export function knownMigrations(): readonly Migration[] {
  known ??= readMigrationFiles({ migrationsFolder }).map(({ hash, folderMillis, sql }, index) => ({
    hash,
    folderMillis,
    sql,
    oldestRelease: index < MIGRATIONS_OF_0_2 ? undefined : oldestReleaseOf(sql[0] ?? ''),
  }))
  return known
}

export interface AppliedMigrations {
  hashes: ReadonlySet<string>
  /** The newest of the releases that they name, this version's and those of later ones. */
  oldestRelease: string | undefined
}

// A database of 0.2 lacks the column.
const APPLIED = `
  select hash, to_jsonb(m) ->> 'oldest_release' as "oldestRelease" from drizzle.__drizzle_migrations m`

/** Reads which migrations a database has. Rejects when it was never migrated. */
export async function readAppliedMigrations(db: Database | Transaction): Promise<AppliedMigrations> {
  const rows = await run<{ hash: string; oldestRelease: string | null }>(db, APPLIED)
  return {
    hashes: new Set(rows.map(({ hash }) => hash)),
    oldestRelease: newestRelease(rows.map(({ oldestRelease }) => oldestRelease ?? undefined)),
  }
}

/** The migrations of this version that a database lacks, the oldest first. */
export const pendingOf = ({ hashes }: Pick<AppliedMigrations, 'hashes'>): readonly Migration[] =>
  knownMigrations().filter(({ hash }) => !hashes.has(hash))

/**
 * Compares the migrations of a database with those of this version, as sets. A database that has all of them may have
 * others: a later release has migrated it, and this one runs beside it.
 */
export function checkApplied({ hashes, oldestRelease }: AppliedMigrations): MigrationCheck {
  if (oldestRelease !== undefined && compareReleases(oldestRelease, packageJson.version) > 0)
    return { state: 'outgrown', fault: outgrown(oldestRelease) }
  const present = knownMigrations().length - pendingOf({ hashes }).length
  if (present === knownMigrations().length) return { state: 'ok' }
  if (present === hashes.size) return { state: 'pending', fault: PENDING }
  return { state: 'unreleased', fault: UNRELEASED }
}

export async function checkMigrations(db: Database): Promise<MigrationCheck> {
  return checkApplied(await readAppliedMigrations(db))
}

/** Throws for a database that this version must not touch. A database that lacks migrations may still get them. */
export function refuseUnusable(check: MigrationCheck): void {
  if (check.state !== 'ok' && !check.fault.canPass) throw new UnusableDatabase(check.fault)
}
