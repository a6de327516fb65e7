import type { TransactionSql } from 'postgres'
import type { Database } from '../db/connect.ts'
import { run } from '../db/statement.ts'
import { type Fields, isHistory, mentions, PLACES, type Place, readAnswer } from './places.ts'
import type { Wanted } from './spellings.ts'

// Reads tables in the order of their blocks: no index finds an address inside a text, and a range of blocks is a batch
// of known size whatever is in it.

/** 8 MB. */
export const BLOCKS_PER_BATCH = 1_024

/** A table, or a day of history, with the place that it belongs to. */
export interface Part {
  place: Place
  name: string
  blocks: number
}

/** Which rows of a part to read: a range of blocks, or those that a SQL condition on `t` names. */
export type Range = { from: number; to: number } | { where: string }

export interface Found {
  /** The table or the day of history that has the row. */
  part: string
  /** Where the row is: a `tid` of PostgreSQL. */
  at: string
  accountId: string
  row: Fields
}

const DAYS = `
  select c.relname as name, (pg_relation_size(c.oid) / current_setting('block_size')::int)::int as blocks
  from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = $1::regclass and not i.inhdetachpending order by c.relname`
const TABLE = `
  select $1::text as name, (pg_relation_size($1::text::regclass) / current_setting('block_size')::int)::int as blocks`

/** All tables and days, in the order in which they are read, with their current sizes. */
export async function partsOf(db: Database): Promise<Part[]> {
  const parts: Part[] = []
  for (const place of PLACES) {
    const rows = await run<{ name: string; blocks: number }>(db, isHistory(place.table) ? DAYS : TABLE, [place.table])
    parts.push(...rows.map((row) => ({ place, ...row })))
  }
  return parts
}

/** Returns the rows of a range that mention the address. `forUpdate` locks them until the end of the transaction. */
export async function find(
  db: Database | TransactionSql,
  { place, name }: Pick<Part, 'place' | 'name'>,
  range: Range,
  { wanted, accountId, forUpdate = false }: { wanted: Wanted; accountId?: string; forUpdate?: boolean },
): Promise<Found[]> {
  const columns = Object.keys(place.columns)
  const statement = `
    select t.tableoid::regclass::text as part, t.ctid::text as "at", ${place.account} as "accountId", ${columns.map((c) => `${textOf(place, c)} as ${c}`).join(', ')}
    from ${name} t
    where ${'where' in range ? range.where : `t.ctid >= '(${range.from},0)' and t.ctid < '(${range.to},0)'`}
      and ${mentionIn(
        columns.map((column) => searchedText(place, column)),
        wanted,
      )}
      ${place.only ? `and ${place.only}` : ''}
      ${accountId === undefined ? '' : `and ${place.account} = '${accountId}'`}
    ${forUpdate ? 'for update of t' : ''}`
  const rows = await run<{ part: string; at: string; accountId: string | null } & Record<string, string | null>>(
    db,
    statement,
    [stemOf(wanted), ...wanted.needles],
    { prepare: false },
  )
  return rows.flatMap(({ part, at, accountId, ...texts }) => {
    const row = Object.fromEntries(columns.map((column) => [column, parsedValue(place, column, texts[column] ?? null)]))
    return mentions(row, wanted) ? { part, at, accountId: accountId ?? '', row } : []
  })
}

/**
 * SQL: whether one of the texts has a needle. They are searched as one, because the work for each call of a function is
 * the greatest part. The start that all needles share is looked for first, because few rows have it.
 */
function mentionIn(texts: string[], { needles }: Wanted): string {
  const joined = texts.map((text) => `coalesce(${text}, '')`).join(` || e'\\n' || `)
  const lower = `lower((${joined}) ${collationFor(needles)})`
  return `strpos(${lower}, $1) > 0 and (${needles.map((_, i) => `strpos(${lower}, $${i + 2}) > 0`).join(' or ')})`
}

function stemOf({ needles: [first = '', ...others] }: Wanted): string {
  let length = first.length
  while (!others.every((needle) => needle.startsWith(first.slice(0, length)))) length--
  return first.slice(0, length)
}

/** The collation "C" turns A to Z into lower case, and is several times as fast as one that knows all letters. */
const collationFor = (needles: string[]): string => (/^[\x00-\x7f]*$/.test(needles.join('')) ? 'collate "C"' : '')

const textOf = (place: Place, column: string): string =>
  place.columns[column] === 'answer' ? `encode(t.${column}, 'hex')` : `t.${column}::text`

/** In the "escape" format ASCII is as it is. */
const searchedText = (place: Place, column: string): string =>
  place.columns[column] === 'answer' ? `encode(t.${column}, 'escape')` : `t.${column}::text`

function parsedValue(place: Place, column: string, text: string | null): unknown {
  if (text === null) return null
  switch (place.columns[column]) {
    case 'json':
      return JSON.parse(text)
    case 'answer':
      return readAnswer(Buffer.from(text, 'hex'))
    default:
      return text
  }
}
