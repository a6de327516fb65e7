import { copyFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { publicId } from '../db/ids.ts'
import { type AddressPlace, erasedFields, type Fields, mentions, PLACES, storedText } from '../erasure/places.ts'
import type { Wanted } from '../erasure/spellings.ts'
import { type ArchiveParts, factsOf, putManifest } from './archive-day.ts'
import { type ArchivedTable, daysOf, fileOfTable, readManifest } from './days.ts'
import { type DuckDb, digestOf, numberedRows, parquetRows, quoted } from './duckdb.ts'

// An address is found and replaced in the archive as in the database: `PLACES` says where it may be, and how.

export type SearchParts = Omit<ArchiveParts, 'db'>

export interface ArchiveSearch {
  wanted: Wanted
  /** UUID; all accounts when undefined. */
  accountId?: string
}

/** The rows of a file of the archive that mention an address. */
export interface ArchivedMentions {
  day: string
  place: AddressPlace
  rows: { number: number; row: Fields; json: string }[]
}

/** Yields the rows of the whole archive that mention the address, by day and table. */
export async function* mentionsIn(parts: SearchParts, search: ArchiveSearch): AsyncGenerator<ArchivedMentions> {
  for (const day of await daysOf(parts.store)) {
    const { tables } = await readManifest(parts.store, day)
    for (const place of PLACES) {
      if (tables[place.table as ArchivedTable] === undefined) continue
      const rows = await parts.store.read(fileOfTable(day, place.table as ArchivedTable), (file) =>
        find(parts.duckdb, { file, place, search }),
      )
      if (rows.length > 0) yield { day, place, rows }
    }
  }
}

/** Yields the rows of the whole archive that mention the address, as JSON with their day and table. */
export async function* exportOfArchive(parts: SearchParts, search: ArchiveSearch): AsyncGenerator<string> {
  for await (const { day, place, rows } of mentionsIn(parts, search))
    for (const { json } of rows) yield `{"day":"${day}","table":"${place.table}","row":${json}}`
}

/**
 * Replaces the address in the whole archive. Returns how many rows of each day changed. Each changed file takes the
 * place of the one before; old versions that a bucket keeps remain. The manifest comes first: the next run repairs what
 * a crash leaves between the two.
 */
export async function eraseIn(parts: SearchParts, search: ArchiveSearch): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for await (const found of mentionsIn(parts, search)) {
    await rewrite(parts, found, search.wanted)
    counts[found.day] = (counts[found.day] ?? 0) + found.rows.length
  }
  return counts
}

interface SearchedFile {
  file: string
  place: AddressPlace
  search: ArchiveSearch
}

async function find(duckdb: DuckDb, { file, place, search }: SearchedFile): Promise<ArchivedMentions['rows']> {
  const { wanted, accountId } = search
  const columns = await archivedColumns(duckdb, file, place)
  const text = columns.map((column) => `coalesce("${column}"::varchar, '')`).join(' || chr(10) || ')
  const has = wanted.needles.map((needle) => `contains(text, lower(${quoted(needle)}))`).join(' or ')
  const ofAccount = accountId === undefined ? '' : `and t.account_id = ${quoted(publicId('acc', accountId))}`
  const reader = await duckdb.connection.runAndReadAll(`
    select to_json(t)::varchar from (
      select t, lower(${text}) as text from ${numberedRows(file)} t
    ) where (${has}) ${ofAccount}`)
  return (reader.getRowsJS() as [string][]).flatMap(([found]) => {
    const { file_row_number: number, ...all } = JSON.parse(found)
    const row = Object.fromEntries(columns.map((column) => [column, all[column]]))
    return mentions(place, row, wanted) ? [{ number, row, json: JSON.stringify(all) }] : []
  })
}

/** The columns with addresses that the file has: an earlier release may have written it. */
async function archivedColumns({ connection }: DuckDb, file: string, place: AddressPlace): Promise<string[]> {
  const reader = await connection.runAndReadAll(`describe select * from ${parquetRows(file)}`)
  const names = reader.getRowsJS().map(([name]) => name as string)
  return Object.keys(place.columns).filter((column) => names.includes(column))
}

async function rewrite(parts: SearchParts, { day, place, rows }: ArchivedMentions, wanted: Wanted): Promise<void> {
  const { store, duckdb, folder } = parts
  const table = place.table as ArchivedTable
  const [changes, file] = [join(folder, 'changes.json'), join(folder, 'erased.parquet')]
  const columns = Object.entries(place.columns).filter(([column]) => rows.some(({ row }) => column in row))
  const lines = rows.map(({ number, row }) => {
    const erased = erasedFields(place, row, wanted)
    const texts = columns.map(([column, kind]) => [column, storedText(kind, erased[column])])
    return JSON.stringify({ number, ...Object.fromEntries(texts) })
  })
  try {
    await writeFile(changes, lines.join('\n'))
    const names = columns.map(([column]) => column)
    await store.read(fileOfTable(day, table), (from) => writeChanged(duckdb, { from, changes, columns: names, file }))
    const facts = { ...(await digestOf(duckdb, parquetRows(file))), ...(await factsOf(file)) }
    const manifest = await readManifest(store, day)
    await putManifest(parts, { ...manifest, tables: { ...manifest.tables, [table]: facts } })
    await store.put(fileOfTable(day, table), (path) => copyFile(file, path))
  } finally {
    await rm(changes, { force: true })
    await rm(file, { force: true })
  }
}

interface ChangedFile {
  from: string
  /** The new values of the changed rows, a line of JSON for each. */
  changes: string
  columns: string[]
  file: string
}

async function writeChanged({ connection }: DuckDb, { from, changes, columns, file }: ChangedFile): Promise<void> {
  const types = ['number', ...columns].map((name) => `${quoted(name)}: '${name === 'number' ? 'BIGINT' : 'VARCHAR'}'`)
  const values = columns.map(
    (name) => `case when c.number is null then t."${name}"::varchar else c."${name}" end as "${name}"`,
  )
  const reader = await connection.runAndReadAll(`describe select * from ${parquetRows(from)}`)
  const typed = reader.getRowsJS().map(([name, type]) => `"${name}"::${type} as "${name}"`)
  await connection.run(`
    copy (
      select ${typed} from (
        select t.* replace (${values}) from ${numberedRows(from)} t
        left join read_json(${quoted(changes)}, format = 'newline_delimited', columns = {${types}}) c
          on c.number = t.file_row_number
        order by t.file_row_number
      )
    ) to ${quoted(file)} (format parquet, compression zstd)`)
}
