import { drizzle } from 'drizzle-orm/postgres-js'
import postgres from 'postgres'
import * as schema from './schema.ts'

export type Database = ReturnType<typeof connect>

/** Drizzle over one pool of postgres.js. `db.$client` is the pool, for the few statements that are SQL. Close with `db.$client.end()`. */
export function connect(url: string, options: { connections?: number } = {}) {
  const client = postgres(url, {
    max: options.connections ?? 10,
    connect_timeout: 5,
    // Seconds between tries to connect again: a database that is back is used within a second.
    backoff: () => 0.5,
    onnotice: () => {},
    // Lost answers and dead peers are noticed instead of waited for.
    connection: { application_name: 'verdict', statement_timeout: 15_000, idle_in_transaction_session_timeout: 15_000 },
  })
  return drizzle(client, { schema })
}
