import type { PostgresJsDatabase } from 'drizzle-orm/postgres-js'
import postgres, { type Sql } from 'postgres'
import packageJson from '../../package.json' with { type: 'json' }
import { readDatabaseUrl } from '../config/database-url.ts'
import { boundTransactions } from './bounded-transactions.ts'
import type { NoteBatch } from './collector.ts'
import { createHealth, type DatabaseHealth } from './database-health.ts'
import { drizzle } from './drizzle.ts'
import type { Outage } from './outage.ts'
import { Primary } from './primary.ts'
import { createProbe } from './probe.ts'
import { Recording } from './recording.ts'
import * as schema from './schema.ts'
import { createWarmConnections, REOPEN_MS } from './warm.ts'

// This file opens the database. `primary.ts` finds the server that takes writes, by `probe.ts` and on the sockets of
// `database-sockets.ts`; `outage.ts` waits while it moves, and `warm.ts` keeps connections for single statements.
// `bounded-transactions.ts` keeps the calls of one account from taking all connections. `replicas.ts` serves reads that
// may lag; `replication.ts` says by how much.
//
// A process waits for its database (`wait.ts`), refuses one that it cannot use (`applied-migrations.ts`, `encoding.ts`,
// `database-fault.ts`), and then shows its state (`database-readiness.ts`, `database-health.ts`, `recording.ts`).
// `migrate.ts` applies `migrations.ts`, whose statements `ddl.ts` runs beside those of sends.
//
// `schema.ts` and `people-schema.ts` have the tables. A statement is Drizzle's (`drizzle.ts`) or SQL, and then run by
// `statement.ts`. `collector.ts` shares one between sends, whose rows are in the form of `columns.ts`. A lock on an
// account is in `lock-account.ts`, one that outlasts its transaction is a row of `leases.ts`. Ids and expiry follow the
// database's time (`clock.ts`, `ids.ts`).
//
// History has a table for each day: `partitions.ts` creates it, `newest-rows.ts` reads from the newest one back,
// `event-order.ts` puts its events in order, and `contents.ts`, `expiry.ts` and `drop-expired.ts` remove what
// `retention.ts` does not keep. `encryption.ts` seals secrets, and `reseal.ts` replaces its key.

/**
 * Drizzle's query builder, which transactions share, and the parts that only the whole database has. A function that
 * may run in a transaction takes either, and `run` sees which it got.
 */
export interface Database extends PostgresJsDatabase<typeof schema> {
  /** The pool, without the warm connections. Its `end` closes all. */
  $client: Sql
  /** Connections for statements outside transactions, of which each is used by one statement at a time. */
  warm: ReturnType<typeof createWarmConnections>
  health: DatabaseHealth
  outage: Outage
  recording: Recording
  load: DatabaseLoad
  /** Returns the callback that notes the batches of a shared statement. */
  noteBatch(statement: string): NoteBatch | undefined
}

/** What `db.transaction` passes on: all that is done with it is in one transaction. */
export type Transaction = Parameters<Parameters<Database['transaction']>[0]>[0]

export interface DatabaseLoad {
  /** Connections that are open, or being opened. */
  open: number
  /** The most connections. */
  limit: number
  /** Statements of `run` outside transactions that run or wait for a connection. */
  statements: number
  /** Sends in flight that are not at a mail server. Their statements wait a moment for each other, to be shared. */
  sends: number
}

/**
 * Settings of each session, beside `statement_timeout`. A prepared statement keeps the plan that it got while the open
 * tables were empty. Without these settings that plan would be a scan or a hash. It would read the dead rows of every
 * send since the last vacuum. They halve PostgreSQL's work (docs/performance.md).
 */
export const PLANNER_SETTINGS = {
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  // Before PostgreSQL 18 the "off" of the settings above means "at a cost of 10,000,000,000". At that cost every plan
  // would be compiled first, which takes a second or two.
  jit: 'off',
} as const

/** The name of our sessions in PostgreSQL. Up to 0.2 it was `verdict` alone. */
export const APPLICATION = `verdict ${packageJson.version}`

/** The share of the connections that are warm (warm.ts). The others are the pool. */
const WARM_SHARE = 0.4

/** The longest that a statement may take, unless a caller of `connect` says otherwise. */
export const STATEMENT_MS = 15_000

/** How long a statement waits for a lock. It is then tried again, beside those of others (collector.ts). */
export const LOCK_MS = 1_000

export interface ConnectOptions {
  /** Creates what a shared statement's batches are noted with. */
  batchNotes?(statement: string): NoteBatch

  connections?: number
  /** The longest that a statement may take; 0 for no limit. */
  statementMs?: number
  /** The longest that a statement may wait for a lock; 0 for no limit. */
  lockMs?: number
}

/**
 * Opens Drizzle over postgres.js connections, to the server in the URL that takes writes. Use the query builder, or
 * `run` (statement.ts) for a SQL constant.
 */
export function connect(url: string, options: ConnectOptions = {}): Database {
  const { connections = 10, statementMs = STATEMENT_MS, lockMs = 0, batchNotes } = options
  const load: DatabaseLoad = { open: 0, limit: connections, statements: 0, sends: 0 }
  const { hosts, url: driverUrl, isPooled } = readDatabaseUrl(url)
  const primary = new Primary({ hosts, probe: createProbe(driverUrl), statementMs })
  const settings = {
    // One server: with more, postgres.js would retry a failed connection without end and without a pause.
    host: hosts[0]?.host,
    port: hosts[0]?.port,
    connect_timeout: 5,
    // Seconds between attempts to reconnect: a database that is back is used within a second.
    backoff: () => REOPEN_MS / 1_000,
    onnotice: () => {},
    // Drizzle parses arrays by itself, and a connection that broke during this query would end the process.
    fetch_types: false,
    // An idle connection is closed before its silence could be mistaken for that of a dead server.
    idle_timeout: statementMs / 1_000,
    // A pooler refuses settings, because it shares its sessions. The settings of the database's user apply instead
    // (docs/scaling.md).
    connection: { application_name: APPLICATION, ...(isPooled ? {} : sessionSettings(statementMs, lockMs)) },
  } as const
  // Drizzle sets which types the driver parses, so the warm connections need it, too.
  const open = (max: number, onClose?: () => void) =>
    // postgres.js lacks `socket` in its types.
    drizzle(
      postgres(driverUrl, { ...settings, max, ...{ socket: counted((place) => primary.open(place), load, onClose) } }),
      { schema },
    )
  const warmCount = Math.floor(connections * WARM_SHARE)
  const db = open(connections - warmCount)
  const warm = createWarmConnections(warmCount, (onClose) => open(1, onClose).$client)
  const client = db.$client
  const endPool = client.end
  const endBoth: typeof endPool = async (options) => {
    await Promise.all([endPool(options), warm.end(options)])
  }
  client.end = endBoth
  boundTransactions(client, connections - warmCount)
  const noteBatch = (statement: string) => batchNotes?.(statement)
  const health = createHealth(client, () => primary.suspect())
  return Object.assign(db, { warm, health, outage: primary, recording: new Recording(), load, noteBatch })
}

const sessionSettings = (statementMs: number, lockMs: number) => ({
  ...PLANNER_SETTINGS,
  statement_timeout: statementMs,
  lock_timeout: lockMs,
  idle_in_transaction_session_timeout: statementMs,
  // The locks of a machine that vanished silently are free within half a minute.
  tcp_keepalives_idle: 10,
  tcp_keepalives_interval: 5,
  tcp_keepalives_count: 3,
  tcp_user_timeout: 20_000,
})

/** Counts the sockets that `open` opens for as long as they are open. */
function counted(open: Primary['open'], load: DatabaseLoad, onClose?: () => void): Primary['open'] {
  return async (driver) => {
    const socket = await open(driver)
    load.open++
    socket.once('close', () => {
      load.open--
      onClose?.()
    })
    return socket
  }
}
