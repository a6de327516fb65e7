import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { CROCKFORD } from '../db/ids.ts'
import type { ArchivedColumn } from './columns.ts'

// Parquet files are written and read by DuckDB, in one thread and bounded memory: the rest goes to its folder.

const MEMORY = '1GB'

export interface DuckDb extends Disposable {
  connection: DuckDBConnection
}

export async function startDuckDb(folder: string): Promise<DuckDb> {
  const instance = await DuckDBInstance.create(':memory:', {
    threads: '1',
    memory_limit: MEMORY,
    temp_directory: `${folder}/duckdb`,
    // A file is read where we say, and nothing is fetched.
    autoinstall_known_extensions: 'false',
  })
  const connection = await instance.connect()
  for (const macro of PUBLIC_IDS) await connection.run(macro)
  await connection.run(`pragma timezone = 'UTC'`)
  return {
    connection,
    [Symbol.dispose]() {
      connection.closeSync()
      instance.closeSync()
    },
  }
}

export const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`

const shiftsTo = (first: number) => Array.from({ length: first / 5 + 1 }, (_, i) => first - 5 * i)

/**
 * `publicId` of db/ids.ts, as macros: two characters for the first eight bits, then twelve for each 60. DuckDB's
 * `to_base` uses other letters, and translating them takes longer than all of this.
 */
const PUBLIC_IDS = [
  `create macro number(hex, start, digits) as ('0x' || substr(hex, start, digits))::bigint`,
  `create macro digit(bits, shift) as list_extract([${[...CROCKFORD].map(quoted)}], ((bits >> shift) & 31) + 1)`,
  `create macro two(bits) as concat(${shiftsTo(5).map((shift) => `digit(bits, ${shift})`)})`,
  `create macro twelve(bits) as concat(${shiftsTo(55).map((shift) => `digit(bits, ${shift})`)})`,
  `create macro base32(hex) as concat(two(number(hex, 1, 2)), twelve(number(hex, 3, 15)), twelve(number(hex, 18, 15)))`,
  `create macro public_id(prefix, uuid) as concat(prefix, '_', base32(replace(uuid, '-', '')))`,
]

/** The longest line of CSV: the request of a message, without its content, and what its checks said. */
const MAX_LINE = 64 * 1_048_576

/** Makes the table for the rows of a day. */
export async function beginRows({ connection }: DuckDb, columns: readonly ArchivedColumn[]): Promise<void> {
  await connection.run(`create or replace temp table day (${columns.map(({ name, type }) => `"${name}" ${type}`)})`)
}

interface AddedRows {
  /** CSV as PostgreSQL writes it. */
  csv: string
  columns: readonly ArchivedColumn[]
}

export async function addRows({ connection }: DuckDb, { csv, columns }: AddedRows): Promise<void> {
  const types = columns.map(({ name }) => `${quoted(name)}: 'VARCHAR'`)
  const values = columns.map(({ name, type, prefix }) => {
    if (name === 'account_id') return 'accounts.id'
    return prefix === undefined ? `rows."${name}"::${type}` : `public_id('${prefix}', rows."${name}")`
  })
  // Each row has an account, of which there are few.
  await connection.run(`
    insert into day
    with rows as materialized (
      from read_csv(${quoted(csv)}, header = true, columns = {${types}}, delim = ',', quote = '"', escape = '"',
        nullstr = '', allow_quoted_nulls = false, auto_detect = false, parallel = false, max_line_size = ${MAX_LINE},
        buffer_size = ${2 * MAX_LINE})
    ),
    accounts as (
      select uuid, public_id('acc', uuid) as id from (select distinct account_id as uuid from rows)
    )
    select ${values} from rows join accounts on rows.account_id = accounts.uuid`)
}

interface WrittenFile {
  /** Neighbours of one account are alike, which compresses best, and a reader mostly wants one account. */
  order: string
  file: string
}

/** Writes the rows as Parquet. Returns their digest, from before they were written. */
export async function writeParquet(duckdb: DuckDb, { order, file }: WrittenFile): Promise<Digest> {
  const digest = await digestOf(duckdb, 'day')
  await duckdb.connection.run(`
    copy (from day order by ${order}) to ${quoted(file)} (format parquet, compression zstd)`)
  return digest
}

export interface Digest {
  rows: number
  /** The sum of the hashes of all rows, in whatever order they are. */
  digest: string
}

/** Counts the rows of a table or a Parquet file, and adds up their hashes. It reads every value. */
export async function digestOf({ connection }: DuckDb, rows: string): Promise<Digest> {
  const reader = await connection.runAndReadAll(
    `select count(*)::double as rows, coalesce(sum(hash(t)), 0)::varchar as digest from ${rows} t`,
  )
  const [[count, digest]] = reader.getRowsJS() as [[number, string]]
  return { rows: count, digest }
}

/** SQL: the rows of a Parquet file, without what its path says. */
export const parquetRows = (file: string) => `read_parquet(${quoted(file)}, hive_partitioning = false)`

/** SQL: the same, each with its number. */
export const numberedRows = (file: string) =>
  `read_parquet(${quoted(file)}, hive_partitioning = false, file_row_number = true)`
