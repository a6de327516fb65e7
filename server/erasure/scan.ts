import type { TransactionSql } from 'postgres'
import type { Database } from '../db/connect.ts'
import { run, UNPREPARED } from '../db/statement.ts'
import { type AddressPlace, type Fields, isHistory, mentions, type Parameter, PLACES, readAnswer } from './places.ts'
import type { Wanted } from './spellings.ts'

// Most of history is searched through indexes. The other tables, and days from before there were such indexes, are read
// in the order of their blocks: a range of blocks is a batch of known size whatever is in it.

/** 8 MB. */
const BLOCKS_PER_BATCH = 1_024
const ROWS_PER_BATCH = 1_000
/** In a day. Their places are kept in memory. */
const MOST_CANDIDATES = 250_000
/**
 * How long a statement of a search may take. A day of history may have a hundred million rows, and PostgreSQL before 18
 * reads a whole index of them.
 */
export const SEARCH_MS = 120_000

/** A table, or a day of history, with the place that it belongs to. */
export interface Part {
  place: AddressPlace
  name: string
  blocks: number
  /** Whether it has the indexes that lead to the candidates of its place. */
  isIndexed: boolean
}

/** Which rows of a part to search: a range of blocks, the rows at some places, or those that a SQL condition names. */
export type Range = { from: number; to: number } | { places: string[] } | { where: string }

export interface Found {
  /** The table or the day of history that has the row. */
  part: string
  /** Where the row is: a `tid` of PostgreSQL. */
  at: string
  accountId: string
  row: Fields
}

const DAYS = `
  select c.relname as name, (pg_relation_size(c.oid) / current_setting('block_size')::int)::int as blocks,
    exists (
      select from pg_index x join pg_inherits p on p.inhrelid = x.indexrelid
      where x.indrelid = c.oid and x.indisvalid and p.inhparent = to_regclass($1::text || '_mentions')
    ) as "isIndexed"
  from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = $1::text::regclass and not i.inhdetachpending order by c.relname`
const TABLE = `
  select $1::text as name, (pg_relation_size($1::text::regclass) / current_setting('block_size')::int)::int as blocks,
    false as "isIndexed"`

/** All tables and days, in the order in which they are read, with their current sizes. */
export async function partsOf(db: Database): Promise<Part[]> {
  const parts: Part[] = []
  for (const place of PLACES) {
    const rows = await run<Omit<Part, 'place'>>(db, isHistory(place.table) ? DAYS : TABLE, [place.table])
    parts.push(...rows.map((row) => ({ place, ...row })))
  }
  return parts
}

/** The batches in which a part is searched, beginning at a block: those of its candidates, or ranges of its blocks. */
export async function* rangesOf(
  db: Database,
  part: Part,
  fromBlock: number,
  wanted: Wanted,
): AsyncGenerator<Exclude<Range, { where: string }>> {
  const { blocks, isIndexed } = part
  const candidates = isIndexed && blocks > 0 && fromBlock === 0 ? await candidatesOf(db, part, wanted) : undefined
  if (candidates) {
    for (let i = 0; i < candidates.length; i += ROWS_PER_BATCH)
      yield { places: candidates.slice(i, i + ROWS_PER_BATCH) }
  } else {
    for (let from = fromBlock; from < blocks; from += BLOCKS_PER_BATCH)
      yield { from, to: Math.min(from + BLOCKS_PER_BATCH, blocks) }
  }
}

/** Where the rows of a day are that may mention the address. undefined when they are too many. */
async function candidatesOf(db: Database, { place, name }: Part, wanted: Wanted): Promise<string[] | undefined> {
  const { text, parameters } = withParameters((parameter) => place.candidates!(wanted, name, parameter))
  const statement = `select t.ctid::text as "at" from ${name} t where ${text} limit ${MOST_CANDIDATES + 1}`
  const rows = await db.$client.begin(async (tx) => {
    await run(tx, `select set_config('statement_timeout', '${SEARCH_MS}', true)`)
    return run<{ at: string }>(tx, statement, parameters, UNPREPARED)
  })
  return rows.length > MOST_CANDIDATES ? undefined : rows.map(({ at }) => at)
}

/** Writes SQL with parameters: `write` gets a function that adds a value and returns what stands for it. */
function withParameters(write: (parameter: Parameter) => string): { text: string; parameters: string[] } {
  const parameters: string[] = []
  const text = write((value) => `$${parameters.push(value)}`)
  return { text, parameters }
}

interface Search {
  wanted: Wanted
  /** All accounts when undefined. */
  accountId?: string
  /** Whether the rows are locked until the end of the transaction. */
  forUpdate?: boolean
}

/** Returns the rows of a range that mention the address. */
export async function find(
  db: Database | TransactionSql,
  { place, name }: Pick<Part, 'place' | 'name'>,
  range: Range,
  { wanted, accountId, forUpdate = false }: Search,
): Promise<Found[]> {
  const columns = Object.keys(place.columns)
  const texts = columns.map((column) => searchedText(place, column))
  const { text, parameters } = withParameters(
    (parameter) => `
    select t.tableoid::regclass::text as part, t.ctid::text as "at", ${place.account} as "accountId", ${columns.map((c) => `${textOf(place, c)} as ${c}`).join(', ')}
    from ${name} t
    where (${rowsIn(range, parameter)})
      and ${mentionIn(texts, wanted, parameter)}
      ${place.only ? `and ${place.only}` : ''}
      ${accountId === undefined ? '' : `and ${place.account} = ${parameter(accountId)}::uuid`}
    ${forUpdate ? 'for update of t' : ''}`,
  )
  const rows = await run<{ part: string; at: string; accountId: string | null } & Record<string, string | null>>(
    db,
    text,
    parameters,
    UNPREPARED,
  )
  return rows.flatMap(({ part, at, accountId, ...texts }) => {
    const row = Object.fromEntries(columns.map((column) => [column, parsedValue(place, column, texts[column] ?? null)]))
    return mentions(place, row, wanted) ? { part, at, accountId: accountId ?? '', row } : []
  })
}

/** SQL: the condition on a row that a range stands for. */
function rowsIn(range: Range, parameter: Parameter): string {
  if ('where' in range) return range.where
  if ('places' in range) return `t.ctid = any(${parameter(`{${range.places.map((place) => `"${place}"`)}}`)}::tid[])`
  return `t.ctid >= '(${range.from},0)' and t.ctid < '(${range.to},0)'`
}

/**
 * SQL: whether one of the texts has a needle. They are searched as one, because the work for each call of a function is
 * the greatest part. The start that all needles share is looked for first, because few rows have it.
 */
function mentionIn(texts: string[], { needles }: Wanted, parameter: Parameter): string {
  const joined = texts.map((text) => `coalesce(${text}, '')`).join(` || e'\\n' || `)
  const hasOneOf = (wanted: string[], collation: string) => {
    const has = (needle: string) => `strpos(lower((${joined}) ${collation}), ${parameter(needle)}) > 0`
    return `(${has(stemOf(wanted))} and (${wanted.map(has).join(' or ')}))`
  }
  // The collation "C" turns A to Z into lower case, and is several times as fast as one that knows all letters.
  const asMatched = hasOneOf(needles, 'collate "C"')
  if (/^[\x00-\x7f]*$/.test(needles.join(''))) return asMatched
  // A domain may be spelled in capital letters beyond ASCII.
  return `(${asMatched} or ${hasOneOf([...new Set(needles.map((needle) => needle.toLowerCase()))], '')})`
}

function stemOf([first = '', ...others]: string[]): string {
  let length = first.length
  while (!others.every((needle) => needle.startsWith(first.slice(0, length)))) length--
  return first.slice(0, length)
}

const textOf = (place: AddressPlace, column: string): string =>
  place.columns[column] === 'answer' ? `encode(t.${column}, 'hex')` : `t.${column}::text`

/** In the "escape" format ASCII is as it is. */
const searchedText = (place: AddressPlace, column: string): string =>
  place.columns[column] === 'answer' ? `encode(t.${column}, 'escape')` : `t.${column}::text`

function parsedValue(place: AddressPlace, column: string, text: string | null): unknown {
  if (text === null) return null
  switch (place.columns[column]) {
    case 'json':
    case 'request':
      return JSON.parse(text)
    case 'answer':
      return readAnswer(Buffer.from(text, 'hex'))
    default:
      return text
  }
}
