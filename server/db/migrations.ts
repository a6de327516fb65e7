import {
  checkApplied,
  compareReleases,
  knownMigrations,
  newestRelease,
  readAppliedMigrations,
  refuseUnusable,
} from './applied-migrations.ts'
import { connect, type Transaction } from './connect.ts'
import { CREATE_DATABASE, textFault } from './encoding.ts'
import { beginEpoch } from './event-order.ts'
import { run } from './statement.ts'

const LOCK = 0x7665_7264 // 'verd'

/** Drizzle's table, as its migrator makes it. */
const TABLE = `
  create schema if not exists drizzle;
  create table if not exists drizzle.__drizzle_migrations (
    id serial primary key, hash text not null, created_at bigint)`

const ADD = 'insert into drizzle.__drizzle_migrations (hash, created_at) values ($1, $2)'

/** The migration of 0.3 adds the column. */
const NAME_RELEASE = 'update drizzle.__drizzle_migrations set oldest_release = $2 where hash = $1'

// A pooler gives each transaction another session, so the settings and the lock last as long as the transaction.
const SETTINGS = `select set_config('lock_timeout', '30s', true), set_config('statement_timeout', '0', true)`

/**
 * Applies the missing migrations in one transaction. Processes that start together take turns by an advisory lock. A
 * table that stays locked for 30 s fails the start. Throws for an empty database that could not hold every message, and
 * for one that an unreleased version has made.
 */
export async function applyMigrations(url: string): Promise<void> {
  const db = connect(url, { connections: 1, statementMs: 0 })
  try {
    await db.transaction(async (tx) => {
      await run(tx, SETTINGS)
      await run(tx, 'select pg_advisory_xact_lock($1)', [LOCK])
      await applyMissing(tx)
      await beginEpoch(tx)
    })
  } finally {
    await db.$client.end()
  }
}

/**
 * The releases whose processes have sessions. Those of 0.2 and older do not name theirs. A migration that waits for its
 * turn is none of them.
 */
const SESSIONS = `
  select substr(application_name, 9) as release from pg_stat_activity
  where datname = current_database() and application_name ~ '^verdict( |$)' and pid <> pg_backend_pid()
    and pid not in (select pid from pg_locks where locktype = 'advisory' and objid = ${LOCK})`

/** An upgrade stops once when processes of an older release would fail on the new tables. */
async function refuseOldSessions(tx: Transaction, oldestRelease: string): Promise<void> {
  const sessions = await run<{ release: string }>(tx, SESSIONS)
  const old = sessions.filter(({ release }) => compareReleases(release, oldestRelease) < 0)
  if (old.length === 0) return
  throw new Error(
    `processes of a release before ${oldestRelease} use the database (sessions: ${old.length}). ` +
      'This upgrade stops once: stop every API and worker process of the old release, then run it again. ' +
      'A pooler may keep sessions of processes that have ended: restart it, too',
  )
}

/** Does what Drizzle's migrator does, which begins a transaction of its own. */
async function applyMissing(tx: Transaction): Promise<void> {
  await run(tx, TABLE)
  const applied = await readAppliedMigrations(tx)
  refuseUnusable(checkApplied(applied))
  const pending = knownMigrations().filter(({ hash }) => !applied.hashes.has(hash))
  const isEmpty = applied.hashes.size === 0
  if (isEmpty) await refuseOtherTexts(tx)
  const oldest = newestRelease(pending.map(({ oldestRelease }) => oldestRelease))
  if (oldest && !isEmpty) await refuseOldSessions(tx, oldest)
  for (const { folderMillis, sql, hash, oldestRelease } of pending) {
    for (const statement of sql) await run(tx, statement)
    await run(tx, ADD, [hash, folderMillis])
    if (oldestRelease) await run(tx, NAME_RELEASE, [hash, oldestRelease])
  }
}

async function refuseOtherTexts(tx: Transaction): Promise<void> {
  const fault = await textFault(tx)
  if (fault) throw new Error(`${fault}. Drop it, and create it with: ${CREATE_DATABASE}`)
}
