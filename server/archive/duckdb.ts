import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
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

/**
 * `publicId` of db/ids.ts, as macros: two characters are eight bits, and each twelve of the others 60. `to_base` counts
 * on with a, b, c, and TypeID leaves out i, l, o and u.
 */
const PUBLIC_IDS = [
  `create macro characters(hex, start, digits, length) as
    to_base(('0x' || substr(hex, start, digits))::bigint, 32, length)`,
  `create macro base32(hex) as
    lower(characters(hex, 1, 2, 2) || characters(hex, 3, 15, 12) || characters(hex, 18, 15, 12))`,
  `create macro public_id(prefix, uuid) as
    prefix || '_' || translate(base32(replace(uuid, '-', '')), 'ijklmnopqrstuv', 'jkmnpqrstvwxyz')`,
]

export const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`

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
  const values = columns.map(({ name, type, prefix }) =>
    prefix === undefined ? `"${name}"::${type}` : `public_id('${prefix}', "${name}")`,
  )
  await connection.run(`
    insert into day select ${values} from read_csv(${quoted(csv)}, header = true, columns = {${types}}, delim = ',',
      quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, auto_detect = false, parallel = false,
      max_line_size = ${MAX_LINE}, buffer_size = ${2 * MAX_LINE})`)
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
