import type { Database } from '../../server/db/connect.ts'
import { run } from '../../server/db/statement.ts'

// Fills any table with rows that need not make sense: what is measured is how rows are found. None of them is over.

interface Column {
  name: string
  type: string
  nullable: boolean
  isUnique: boolean
}

/** The names of the tables, or of those with a column; one with partitions is one table. */
export async function tablesOf(db: Database, column = ''): Promise<string[]> {
  const tables = await run<{ name: string }>(
    db,
    `select relname as name from pg_class c
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
       and ($1 = '' or exists (select from pg_attribute where attrelid = c.oid and attname = $1)) order by 1`,
    [column],
  )
  return tables.map(({ name }) => name)
}

export async function dropRules(db: Database): Promise<void> {
  const rules = await run<{ table: string; rule: string }>(
    db,
    `select conrelid::regclass::text as "table", conname as rule from pg_constraint
     where contype in ('f', 'c') and conparentid = 0 and connamespace = 'public'::regnamespace`,
  )
  for (const { table, rule } of rules) await run(db, `alter table ${table} drop constraint if exists ${rule}`)
  for (const table of await tablesOf(db)) await run(db, `alter table ${table} disable trigger all`)
}

interface Filling {
  rows: number
  /** Whether columns that may be empty are filled. */
  isWhole: boolean
  /** SQL: the account of row `i`, which is also what other columns of ids refer to. */
  account: string
}

/** Adds rows to a table. */
export async function fill(db: Database, table: string, { rows, isWhole, account }: Filling): Promise<void> {
  const columns = await run<Column>(
    db,
    `select a.attname as name, format_type(a.atttypid, null) as type, not a.attnotnull as nullable, exists (
       select from pg_index i where i.indrelid = a.attrelid and i.indisunique and a.attnum = any(i.indkey::int2[])
     ) as "isUnique"
     from pg_attribute a
     where a.attrelid = '${table}'::regclass and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''`,
  )
  const filled = columns.filter(({ name, nullable }) => isWhole || !nullable || name === 'account_id')
  const values = filled.map((column) => sqlValue(column, account))
  await run(
    db,
    `insert into ${table} (${filled.map(({ name }) => `"${name}"`)}) select ${values}
     from generate_series(1, ${rows}) i on conflict do nothing`,
  )
  await run(db, `analyze ${table}`)
}

const ENDS = /^(expires_at|until|lease_until|retires_at|due_at|deadline_at|next_check_at)$/
const UNIQUE_ID = `(lpad(to_hex((extract(epoch from now() - interval '50 minutes') * 1000)::int8), 12, '0')
  || '7' || lpad(to_hex(i), 19, '0'))::uuid`

/** SQL: the value of a column in row `i`. */
function sqlValue({ name, type, isUnique }: Column, account: string): string {
  if (name === 'account_id') return account
  if (ENDS.test(name)) return `now() + interval '1 day' + i * interval '1 us'`
  if (type === 'uuid') return isUnique || name === 'message_id' ? UNIQUE_ID : account
  // An hour of statistics that is over is merged.
  if (name === 'hour') return 'now()'
  if (type.startsWith('timestamp')) return `now() - interval '50 minutes'`
  if (type === 'date') return 'now()::date'
  if (type === 'boolean') return 'false'
  if (/int|numeric|double|real/.test(type)) return isUnique ? 'i' : '1'
  if (type === 'bytea') return `decode(md5(i::text), 'hex')`
  if (type.startsWith('json') || type.endsWith('[]')) return `'{}'`
  return isUnique ? `'x' || i` : `'x'`
}
