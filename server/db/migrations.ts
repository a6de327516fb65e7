import { appliedMigrations, knownMigrations, refuseUnusable, stateOf } from './applied-migrations.ts'
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

/** The time of the migration of 0.3. It takes away what processes of 0.2 use. */
const STOPS_ONCE_MS = 1_795_828_015_360

/** Sessions of processes of 0.2 or older. A migration that waits for its turn is none of them. */
const OLD_SESSIONS = `
  select count(*)::int as sessions from pg_stat_activity
  where datname = current_database() and application_name = 'verdict' and pid <> pg_backend_pid()
    and pid not in (select pid from pg_locks where locktype = 'advisory' and objid = ${LOCK})`

/** The upgrade to 0.3 stops once: processes of 0.2 would fail on the new tables. */
async function refuseOldSessions(tx: Transaction): Promise<void> {
  const [{ sessions } = { sessions: 0 }] = await run<{ sessions: number }>(tx, OLD_SESSIONS)
  if (sessions === 0) return
  throw new Error(
    `processes of Verdict 0.2 or older use the database (sessions: ${sessions}). ` +
      'The upgrade to 0.3 stops once: stop every API and worker process of the old release, then run it again. ' +
      'A pooler may keep sessions of processes that have ended: restart it, too',
  )
}

/** Does what Drizzle's migrator does, which begins a transaction of its own. */
async function applyMissing(tx: Transaction): Promise<void> {
  await run(tx, TABLE)
  const applied = await appliedMigrations(tx)
  refuseUnusable(stateOf(applied))
  const pending = knownMigrations().filter(({ hash }) => !applied.has(hash))
  const fault = applied.size > 0 ? undefined : await textFault(tx)
  if (fault) throw new Error(`${fault}. Drop it, and create it with: ${CREATE_DATABASE}`)
  if (applied.size > 0 && pending.some(({ folderMillis }) => folderMillis === STOPS_ONCE_MS))
    await refuseOldSessions(tx)
  for (const { folderMillis, sql, hash } of pending) {
    for (const statement of sql) await run(tx, statement)
    await run(tx, ADD, [hash, folderMillis])
  }
}
