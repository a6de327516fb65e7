import type { Database } from '../db/connect.ts'
import type { IdPrefix } from '../db/ids.ts'
import { run } from '../db/statement.ts'

// How a column of history is read from PostgreSQL and kept in a Parquet file.

export interface ArchivedColumn {
  name: string
  /** SQL of PostgreSQL: its value, as CSV has it. */
  select: string
  /** Its type in DuckDB and in the file. */
  type: string
  /** The prefix of its public ids; undefined for a column of other values. */
  prefix: IdPrefix | undefined
}

const TYPES: Record<string, string> = {
  uuid: 'VARCHAR',
  text: 'VARCHAR',
  bytea: 'VARCHAR',
  json: 'JSON',
  boolean: 'BOOLEAN',
  smallint: 'SMALLINT',
  integer: 'INTEGER',
  bigint: 'BIGINT',
  'timestamp with time zone': 'TIMESTAMPTZ',
}

const ID_PREFIXES: Record<string, IdPrefix> = {
  'messages.id': 'msg',
  'events.id': 'evt',
  'dispatches.id': 'dsp',
  account_id: 'acc',
  message_id: 'msg',
  event_id: 'evt',
  dispatch_id: 'dsp',
  endpoint_id: 'whk',
}

/** The place of an event in streams names transactions of this database and means nothing outside of it. */
const LEFT_OUT = ['events.stream_order']

const COLUMNS = `
  select attname as name, format_type(atttypid, null) as type from pg_attribute
  where attrelid = $1::text::regclass and attnum > 0 and not attisdropped order by attnum`

/** The columns of a table of history that are archived. Content is never archived (`html` and `text` of `request`). */
export async function columnsOf(db: Database, table: string): Promise<ArchivedColumn[]> {
  const rows = await run<{ name: string; type: string }>(db, COLUMNS, [table])
  return rows
    .filter(({ name }) => !LEFT_OUT.includes(`${table}.${name}`))
    .map(({ name, type: stored }) => {
      const type = TYPES[stored]
      if (type === undefined) throw new Error(`the archive has no type for ${table}.${name}, ${stored}`)
      const prefix = ID_PREFIXES[`${table}.${name}`] ?? ID_PREFIXES[name]
      if (stored === 'uuid' && prefix === undefined) throw new Error(`the archive has no prefix for ${table}.${name}`)
      return { name, select: `${selected(name, stored)} as ${name}`, type, prefix }
    })
}

function selected(name: string, type: string): string {
  if (type === 'bytea') return `encode(${name}, 'hex')`
  if (name !== 'request') return name
  return `case when request -> 'html' is null and request -> 'text' is null then request
    else (request::jsonb - 'html' - 'text')::json end`
}
