import postgres from 'postgres'
import { PLANNER_SETTINGS } from '../../server/db/connect.ts'
import { drizzle } from '../../server/db/drizzle.ts'

// The demo stores what happened earlier by the statements of the service, as they are. These ask PostgreSQL for the
// time. On the connections of the demo a schema of its own comes first in the search path, whose `now()` and
// `clock_timestamp()` return the time that the demo has set.

const SCHEMA = 'demo_clock'
const TIME = 'demo_clock.now'

/** Sets the time of the rest of a transaction, in Unix milliseconds. */
export const SET_TIME = `select set_config('${TIME}', to_timestamp($1::float8 / 1000)::text, true)`

const CREATE = `
  create schema if not exists ${SCHEMA};
  ${['now', 'clock_timestamp']
    .map(
      (name) => `create or replace function ${SCHEMA}.${name}() returns timestamptz language sql stable
    as $$ select current_setting('${TIME}')::timestamptz $$;`,
    )
    .join('\n')}`

/** Calls `use` with a connection whose clock is set by `SET_TIME`. */
export async function inThePast(databaseUrl: string, use: (sql: postgres.Sql) => Promise<void>): Promise<void> {
  const plain = postgres(databaseUrl, { max: 1, onnotice: () => {} })
  const sql = postgres(databaseUrl, {
    max: 1,
    fetch_types: false,
    connection: {
      ...PLANNER_SETTINGS,
      search_path: `${SCHEMA}, pg_catalog, public`,
      application_name: 'verdict demo',
    },
  })
  // Sets how the driver passes JSON and times on, as for the service's own connections.
  drizzle(sql)
  try {
    await plain.unsafe(CREATE)
    await use(sql)
  } finally {
    await sql.end()
    await plain.unsafe(`drop schema if exists ${SCHEMA} cascade`)
    await plain.end()
  }
}
