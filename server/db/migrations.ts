import {
  checkApplied,
  compareReleases,
  newestRelease,
  pendingOf,
  readAppliedMigrations,
  refuseUnusable,
} from './applied-migrations.ts'
import { connect, type Transaction } from './connect.ts'
import { alterTables, type DdlTransaction, ddl } from './ddl.ts'
import { CREATE_DATABASE, textFault } from './encoding.ts'
import { beginEpoch } from './event-order.ts'
import { MIGRATION_LOCK, readSessionReleases } from './session-releases.ts'
import { run } from './statement.ts'

/** Drizzle's table, as its migrator makes it. */
const TABLE = ddl`
  create schema if not exists drizzle;
  create table if not exists drizzle.__drizzle_migrations (
    id serial primary key, hash text not null, created_at bigint)`

const ADD = 'insert into drizzle.__drizzle_migrations (hash, created_at) values ($1, $2)'

/** The migration of 0.3 adds the column. */
const NAME_RELEASE = 'update drizzle.__drizzle_migrations set oldest_release = $2 where hash = $1'

const NO_LIMIT = `select set_config('statement_timeout', '0', true)`

/** How long a statement waits for its lock, and how often all begin again: for five minutes. */
const PATIENCE = { lockMs: 1_000, pauseMs: 4_000, tries: 60 }

/**
 * Applies the missing migrations in one transaction. Processes that start together take turns by an advisory lock. A
 * statement that gets no lock within a second ends the transaction, so that sends do not wait behind it, and all begins
 * again, for up to five minutes: `onWait` is called each time. Throws for an empty database that could not hold every
 * message, and for one that an unreleased version has made.
 */
export async function applyMigrations(url: string, onWait?: (error: Error) => void): Promise<void> {
  const db = connect(url, { connections: 1, statementMs: 0 })
  const apply = async (transaction: DdlTransaction) => {
    await run(transaction.tx, NO_LIMIT)
    await run(transaction.tx, 'select pg_advisory_xact_lock($1)', [MIGRATION_LOCK])
    await applyMissing(transaction)
    await beginEpoch(transaction)
  }
  try {
    await alterTables(db, apply, { ...PATIENCE, onWait })
  } finally {
    await db.$client.end()
  }
}

/** An upgrade stops once when processes of an older release would fail on the new tables. */
async function refuseOldSessions(tx: Transaction, oldestRelease: string): Promise<void> {
  const sessions = await readSessionReleases(tx)
  const old = sessions.filter((release) => compareReleases(release, oldestRelease) < 0)
  if (old.length === 0) return
  throw new Error(
    `processes of a release before ${oldestRelease} use the database (sessions: ${old.length}). ` +
      'This upgrade stops once: stop every API and worker process of the old release, then run it again. ' +
      'A pooler may keep sessions of processes that have ended: restart it, too',
  )
}

/** Does what Drizzle's migrator does, which begins its own transaction. */
async function applyMissing({ tx, alter }: DdlTransaction): Promise<void> {
  await alter(TABLE)
  const applied = await readAppliedMigrations(tx)
  refuseUnusable(checkApplied(applied))
  const pending = pendingOf(applied)
  const isEmpty = applied.hashes.size === 0
  if (isEmpty) await refuseOtherTexts(tx)
  const oldest = newestRelease(pending.map(({ oldestRelease }) => oldestRelease))
  if (oldest && !isEmpty) await refuseOldSessions(tx, oldest)
  for (const { folderMillis, sql, hash, oldestRelease } of pending) {
    for (const statement of sql) await alter({ ddl: statement })
    await run(tx, ADD, [hash, folderMillis])
    if (oldestRelease) await run(tx, NAME_RELEASE, [hash, oldestRelease])
  }
}

async function refuseOtherTexts(tx: Transaction): Promise<void> {
  const fault = await textFault(tx)
  if (fault) throw new Error(`${fault}. Drop it, and create it with: ${CREATE_DATABASE}`)
}
