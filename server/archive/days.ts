import { HISTORY } from '../db/schema.ts'
import type { ArchiveStore } from './store.ts'

export type ArchivedTable = keyof typeof HISTORY
export const TABLES = Object.keys(HISTORY) as ArchivedTable[]

/** What the archive has of a day, as `manifest.json` beside its files. Its fields keep their names. */
export interface Manifest {
  /** `2026-08-01`, in UTC. */
  day: string
  /** The release that wrote it. */
  release: string
  written_at: string
  tables: Partial<Record<ArchivedTable, ArchivedFile>>
}

export interface ArchivedFile {
  rows: number
  bytes: number
  /** The digest of the file, in hexadecimal digits. */
  sha256: string
  /** The digest of the rows: the sum of DuckDB's hashes. */
  digest: string
}

// Programs that read Parquet take `day=2026-08-01` as a column of all rows below it.
export const fileOfTable = (day: string, table: ArchivedTable) => `day=${day}/${table}.parquet`
export const manifestOf = (day: string) => `day=${day}/manifest.json`

/** The days that the archive has, the oldest first. A day is complete with its manifest, which is written last. */
export async function daysOf(store: ArchiveStore): Promise<string[]> {
  const names = await store.list('day=')
  return names.flatMap((name) => /^day=(\d{4}-\d\d-\d\d)\/manifest\.json$/.exec(name)?.[1] ?? []).toSorted()
}

export async function readManifest(store: ArchiveStore, day: string): Promise<Manifest> {
  const text = await store.text(manifestOf(day))
  if (text === undefined) throw new Error(`${store.name} has no ${manifestOf(day)}`)
  const manifest = parsed(text)
  if (!manifest?.tables) throw new Error(`${manifestOf(day)} is damaged. Restore the folder of this day from a copy.`)
  return manifest
}

function parsed(text: string): Manifest | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
