import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import packageJson from '../../package.json' with { type: 'json' }
import type { Database } from '../db/connect.ts'
import { type Lease, takeLease } from '../db/leases.ts'
import { one, run } from '../db/statement.ts'
import { ERASURE_LEASE } from '../erasure/erase.ts'
import { type ArchivedColumn, columnsOf } from './columns.ts'
import { type ArchivedFile, type ArchivedTable, fileOfTable, type Manifest, manifestOf, TABLES } from './days.ts'
import { addRows, beginRows, type Digest, type DuckDb, digestOf, parquetRows, writeParquet } from './duckdb.ts'
import type { ArchiveStore } from './store.ts'

export interface ArchiveParts {
  db: Database
  store: ArchiveStore
  duckdb: DuckDb
  /** For temporary files. */
  folder: string
}

const ORDER: Record<ArchivedTable, string> = {
  messages: 'account_id, id',
  recipients: 'account_id, message_id, position',
  events: 'account_id, id',
  dispatches: 'account_id, id',
  attempts: 'account_id, dispatch_id, number, started_at',
}

/**
 * Writes a day of history into the archive, reads it back and compares it with PostgreSQL's rows. The manifest comes
 * last: without it the archive does not have the day. No erasure runs meanwhile: it would find its address neither in
 * the rows that were read already, nor in a day that the archive does not have yet.
 */
export async function archiveDay(parts: ArchiveParts, day: string): Promise<Manifest> {
  const lease = await takeLease(parts.db, ERASURE_LEASE)
  if (!lease) throw new Error('an erasure is running')
  try {
    return await writeDay(parts, day, lease)
  } finally {
    await lease.free().catch(() => {})
  }
}

async function writeDay(parts: ArchiveParts, day: string, lease: Lease): Promise<Manifest> {
  const { db } = parts
  const tables: Manifest['tables'] = {}
  for (const table of TABLES) {
    const partition = `${table}_${day.replaceAll('-', '')}`
    const found = one(await run<{ exists: boolean }>(db, 'select to_regclass($1) is not null as exists', [partition]))
    if (found.exists) tables[table] = await archiveTable(parts, { day, table, partition })
  }
  await lease.renew(db)
  const manifest = { day, release: packageJson.version, written_at: new Date().toISOString(), tables }
  await putManifest(parts, manifest)
  return manifest
}

interface ArchivedPartition {
  day: string
  table: ArchivedTable
  partition: string
}

async function archiveTable(parts: ArchiveParts, { day, table, partition }: ArchivedPartition): Promise<ArchivedFile> {
  const { db, store, duckdb } = parts
  const columns = await columnsOf(db, table)
  const facts = await store.put(fileOfTable(day, table), async (file) => {
    const rows = await readDay(parts, { partition, columns })
    const written = await restAfter(() => writeParquet(duckdb, { order: ORDER[table], file }))
    if (written.rows !== rows) throw new Error(`${partition} has ${rows} rows, and ${written.rows} were read`)
    return { ...written, ...(await factsOf(file)) }
  })
  await restAfter(() => checkFile(parts, { day, table, facts }))
  return facts
}

/**
 * 32 MB. A file of that size is removed before the system would write it to the disk: there it would delay the flushes
 * of a database that shares it.
 */
const BLOCKS = 4_096
const SIZE = `
  select (select count(*) from %s)::float8 as rows,
    (pg_relation_size('%s'::regclass) / current_setting('block_size')::int)::float8 as blocks`

interface ReadPartition {
  partition: string
  columns: readonly ArchivedColumn[]
}

/** Reads the rows of a partition into DuckDB, as CSV and block by block. Returns their number in the same snapshot. */
function readDay({ db, duckdb, folder }: ArchiveParts, { partition, columns }: ReadPartition): Promise<number> {
  const csv = join(folder, 'rows.csv')
  return db.$client.begin('isolation level repeatable read read only', async (tx) => {
    await run(tx, `select set_config('statement_timeout', '0', true), set_config('timezone', 'UTC', true)`)
    const { rows, blocks } = one(await run<{ rows: number; blocks: number }>(tx, SIZE.replaceAll('%s', partition)))
    await beginRows(duckdb, columns)
    for (let from = 0; from < blocks; from += BLOCKS) {
      const selected = `
        select ${columns.map(({ select }) => select)} from ${partition}
        where ctid >= '(${from},0)' and ctid < '(${from + BLOCKS},0)'`
      await restAfter(async () => {
        const stream = await tx.unsafe(`copy (${selected}) to stdout (format csv, header)`).readable()
        await pipeline(stream, createWriteStream(csv))
        // The driver pauses its socket when the stream is full, and leaves it so when the last rows fill it.
        stream._read(0)
        await addRows(duckdb, { csv, columns })
        await rm(csv)
      })
    }
    return rows
  })
}

/** Two thirds of the time, the processors are free for sends. */
const REST_PER_WORK = 2
/** From the start of the process. A day of tens of millions of messages has an hour in all: see writer.ts. */
const RESTS_FOR_MS = 1_200_000

/** Rests after the work. The lowest priority is no help to PostgreSQL, nor to a send on the other half of a core. */
async function restAfter<Result>(work: () => Promise<Result>): Promise<Result> {
  const startedAt = performance.now()
  const result = await work()
  const endedAt = performance.now()
  if (endedAt < RESTS_FOR_MS) await sleep((endedAt - startedAt) * REST_PER_WORK)
  return result
}

export interface CheckedFile {
  day: string
  table: ArchivedTable
  facts: ArchivedFile
}

/** Reads a file of the archive, and throws when it is not what the facts say. */
export async function checkFile({ store, duckdb }: Omit<ArchiveParts, 'db'>, checked: CheckedFile): Promise<void> {
  const { day, table, facts } = checked
  const name = fileOfTable(day, table)
  await store.read(name, async (file) => {
    const { bytes, sha256 } = await factsOf(file)
    if (bytes !== facts.bytes || sha256 !== facts.sha256) throw new Error(`${name} is not the file that was written`)
    const found: Digest = await digestOf(duckdb, parquetRows(file))
    if (found.rows !== facts.rows || found.digest !== facts.digest) throw new Error(`${name} has other rows`)
  })
}

export const putManifest = ({ store }: Pick<ArchiveParts, 'store'>, manifest: Manifest): Promise<void> =>
  store.put(manifestOf(manifest.day), (file) => writeFile(file, `${JSON.stringify(manifest, null, 2)}\n`))

export async function factsOf(file: string): Promise<Pick<ArchivedFile, 'bytes' | 'sha256'>> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return { bytes: (await stat(file)).size, sha256: hash.digest('hex') }
}
