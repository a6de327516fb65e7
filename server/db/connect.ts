import postgres from 'postgres'
import { drizzle } from './drizzle.ts'
import * as schema from './schema.ts'
import { watchedSockets } from './sockets.ts'

export type Database = ReturnType<typeof connect>

interface Options {
  connections?: number
  /** The longest that a statement may take; 0 for those that take as long as they take. */
  statementMs?: number
}

/** Drizzle over one pool of postgres.js. `db.$client` is the pool, for the few statements that are SQL. Close with `db.$client.end()`. */
export function connect(url: string, { connections = 10, statementMs = 15_000 }: Options = {}) {
  const client = postgres(url, {
    max: connections,
    connect_timeout: 5,
    // Seconds between tries to connect again: a database that is back is used within a second.
    backoff: () => 0.5,
    onnotice: () => {},
    // Drizzle reads arrays by itself, and a connection that broke during this question would end the process.
    fetch_types: false,
    // An idle connection is closed before its silence could be taken for that of a dead one.
    idle_timeout: statementMs / 1_000,
    connection: {
      application_name: 'verdict',
      // A prepared statement keeps the plan it got when the open tables were empty: without these it would be a scan or a hash,
      // which reads the dead rows of every send since the last vacuum. Measured: half of PostgreSQL's work (docs/performance.md).
      enable_seqscan: 'off',
      enable_hashjoin: 'off',
      enable_mergejoin: 'off',
      // Before PostgreSQL 18 "off" means "at a price of 10,000,000,000", at which every plan would be compiled first, for a second or two.
      jit: 'off',
      statement_timeout: statementMs,
      idle_in_transaction_session_timeout: statementMs,
      // The locks of a machine that went without a word are free within half a minute.
      tcp_keepalives_idle: 10,
      tcp_keepalives_interval: 5,
      tcp_keepalives_count: 3,
      tcp_user_timeout: 20_000,
    },
    // The types do not know this option.
    ...(statementMs > 0 ? { socket: watchedSockets(statementMs) } : {}),
  })
  return drizzle(client, { schema })
}
