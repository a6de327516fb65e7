import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import packageJson from '../../package.json' with { type: 'json' }
import type { Database } from '../db/connect.ts'
import { type Lease, takeLease } from '../db/leases.ts'
import { run } from '../db/statement.ts'
import { ERASURE_LEASE } from '../erasure/erase.ts'
import { type ArchivedColumn, columnsOf } from './columns.ts'
import { type ArchivedFile, type ArchivedTable, fileOfTable, type Manifest, manifestOf, TABLES } from './days.ts'
import { type Digest, type DuckDb, digestOf, parquetRows, writeParquet } from './duckdb.ts'
import type { ArchiveStore } from './store.ts'

export interface ArchiveParts {
  db: Database
  store: ArchiveStore
  duckdb: DuckDb
  /** For the files of one table at a time. */
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
    const [found] = await run<{ exists: boolean }>(db, 'select to_regclass($1) is not null as exists', [partition])
    if (found!.exists) tables[table] = await archiveTable(parts, { day, table, partition })
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
  const { db, store, duckdb, folder } = parts
  const [csv, file] = [join(folder, `${table}.csv`), join(folder, `${table}.parquet`)]
  const columns = await columnsOf(db, table)
  const rows = await copyOut(db, { partition, columns, csv })
  const written = await writeParquet(duckdb, { csv, columns, order: ORDER[table], file })
  if (written.rows !== rows) throw new Error(`${partition} has ${rows} rows, and ${written.rows} were read`)
  await rm(csv)
  await store.put(fileOfTable(day, table), file)
  const facts = { ...written, ...(await factsOf(file)) }
  await rm(file)
  await checkFile(parts, { day, table, facts })
  return facts
}

export interface CheckedFile {
  day: string
  table: ArchivedTable
  facts: ArchivedFile
}

/** Reads a file of the archive, and throws when it is not what the facts say. */
export async function checkFile(
  { store, duckdb, folder }: Omit<ArchiveParts, 'db'>,
  checked: CheckedFile,
): Promise<void> {
  const { day, table, facts } = checked
  const name = fileOfTable(day, table)
  const file = join(folder, 'check.parquet')
  try {
    await store.get(name, file)
    const { bytes, sha256 } = await factsOf(file)
    if (bytes !== facts.bytes || sha256 !== facts.sha256) throw new Error(`${name} is not the file that was written`)
    const found: Digest = await digestOf(duckdb, parquetRows(file))
    if (found.rows !== facts.rows || found.digest !== facts.digest) throw new Error(`${name} has other rows`)
  } finally {
    await rm(file, { force: true })
  }
}

export async function putManifest({ store, folder }: Omit<ArchiveParts, 'db'>, manifest: Manifest): Promise<void> {
  const file = join(folder, 'manifest.json')
  await writeFile(file, `${JSON.stringify(manifest, null, 2)}\n`)
  await store.put(manifestOf(manifest.day), file)
}

export async function factsOf(file: string): Promise<Pick<ArchivedFile, 'bytes' | 'sha256'>> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return { bytes: (await stat(file)).size, sha256: hash.digest('hex') }
}

interface CopiedPartition {
  partition: string
  columns: readonly ArchivedColumn[]
  csv: string
}

/** Writes the rows of a partition as CSV, with their number in the same snapshot. */
function copyOut(db: Database, { partition, columns, csv }: CopiedPartition): Promise<number> {
  return db.$client.begin('isolation level repeatable read read only', async (tx) => {
    await run(tx, `select set_config('statement_timeout', '0', true), set_config('timezone', 'UTC', true)`)
    const [counted] = await run<{ rows: number }>(tx, `select count(*)::float8 as rows from ${partition}`)
    const selected = `select ${columns.map(({ select }) => select)} from ${partition}`
    const stream = await tx.unsafe(`copy (${selected}) to stdout (format csv, header)`).readable()
    await pipeline(stream, createWriteStream(csv))
    return counted!.rows
  })
}
