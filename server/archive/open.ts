import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ArchivePlace } from '../config/values.ts'
import type { ArchiveParts } from './archive-day.ts'
import { startDuckDb } from './duckdb.ts'
import { openStore } from './open-store.ts'

/** Opens the archive with DuckDB and its own folder in that of temporary files, as long as `use` runs. */
export async function withArchive<T>(
  place: ArchivePlace,
  use: (parts: Omit<ArchiveParts, 'db'>) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'verdict-archive-'))
  try {
    using store = await openStore(place, folder)
    using duckdb = await startDuckDb(folder)
    return await use({ store, duckdb, folder })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
