import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ArchivePlace } from '../config/values.ts'
import type { ArchiveParts } from './archive-day.ts'
import { startDuckDb } from './duckdb.ts'
import { openStore } from './open-store.ts'

/** Opens DuckDB and the archive, with a new folder among the temporary files, while `use` runs. */
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
