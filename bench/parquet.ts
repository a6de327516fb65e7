import { execFile } from 'node:child_process'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import postgres from 'postgres'
import { HISTORY } from '../server/db/schema.ts'
import { installRequirements } from '../test/real/pythons.ts'
import { createReaders } from './lists.ts'
import { fillYesterday, type History } from './load/history.ts'
import type { Table } from './load/history-rows.ts'
import { startProduct } from './load/product.ts'
import { startSink } from './load/sink.ts'
import type { Report, RunOptions } from './report.ts'

const execute = promisify(execFile)

const MESSAGES = 1_000_000
const TABLES = Object.keys(HISTORY) as Table[]

/** Neighbours of one account are alike, which compresses best, and a reader wants one account. */
const ORDER: Record<Table, string> = {
  messages: 'account_id, id',
  recipients: 'account_id, message_id, position',
  events: 'account_id, id',
  dispatches: 'account_id, id',
  attempts: 'account_id, dispatch_id, number',
}

/**
 * A closed day of history, each message with an acknowledged event for each recipient: its bytes in PostgreSQL, with
 * and without indexes, and as Parquet, which DuckDB writes. `size` is the number of messages. It needs Python 3 and
 * fetches DuckDB from PyPI.
 */
export async function run({ size = MESSAGES }: RunOptions): Promise<Report> {
  await using sink = await startSink()
  await using product = await startProduct(sink)
  const { owners } = await createReaders(product.databaseUrl)
  const history: History = { ...owners, messages: size, tables: TABLES }
  await fillYesterday(product.databaseUrl, history)

  await using duckdb = await installDuckDb()
  const sql = postgres(product.databaseUrl, { max: 1 })
  const figures: Report['figures'] = {}
  const total = { rows: 0, indexes: 0, parquet: 0 }
  for (const table of TABLES) {
    const partition = await partitionOfYesterday(sql, table)
    const [stored] = await sql<{ rows: number; indexes: number }[]>`
      select pg_table_size(${partition}::regclass)::float8 as rows,
        pg_indexes_size(${partition}::regclass)::float8 as indexes`
    // The server writes into its own folder, where it may.
    const csv = join(product.databaseDir, 'postgres', `${table}.csv`)
    await sql.unsafe(`copy ${partition} to '${csv}' (format csv, header)`)
    const parquet = await duckdb.writeParquet(table, csv)
    total.rows += stored!.rows
    total.indexes += stored!.indexes
    total.parquet += parquet
    figures[`${table}: bytes of rows per message`] = stored!.rows / size
    figures[`${table}: bytes of indexes per message`] = stored!.indexes / size
    figures[`${table}: bytes of Parquet per message`] = parquet / size
    await rm(csv)
  }
  await sql.end()
  figures['bytes in PostgreSQL per message'] = (total.rows + total.indexes) / size
  figures['bytes of Parquet per message'] = total.parquet / size
  figures['PostgreSQL relative to Parquet'] = (total.rows + total.indexes) / total.parquet
  return { figures, bars: [] }
}

async function partitionOfYesterday(sql: postgres.Sql, table: Table): Promise<string> {
  const [row] = await sql<{ name: string }[]>`
    select ${table} || to_char((now() at time zone 'UTC') - interval '1 day', '"_"YYYYMMDD') as name`
  return row!.name
}

async function installDuckDb() {
  const folder = await mkdtemp(join(tmpdir(), 'verdict-parquet-'))
  const programs = await installRequirements('bench/parquet-requirements.txt', folder)
  const python = join(programs, 'python')
  return {
    /** Writes the rows of a CSV file as Parquet, and returns the file's size in bytes. */
    async writeParquet(table: Table, csv: string): Promise<number> {
      const file = join(folder, `${table}.parquet`)
      const columns = table === 'messages' ? '* replace (unhex(substr(digest, 3)) as digest)' : '*'
      const statement = `copy (select ${columns} from read_csv('${csv}', header = true) order by ${ORDER[table]})
        to '${file}' (format parquet, compression zstd)`
      await execute(python, ['-c', 'import sys, duckdb; duckdb.sql(sys.argv[1])', statement])
      return (await stat(file)).size
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  }
}
