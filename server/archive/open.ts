import { glob, mkdtemp, rm, stat } from 'node:fs/promises'
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
  await removeLeftOver()
  const folder = await mkdtemp(join(tmpdir(), TEMPORARY))
  try {
    using store = await openStore(place, folder)
    using duckdb = await startDuckDb(folder)
    return await use({ store, duckdb, folder })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const TEMPORARY = 'verdict-archive-'
/** No run takes longer. */
const LEFT_OVER_MS = 86_400_000

/** A process that was killed has left its folder, which may hold a day of history. */
async function removeLeftOver(): Promise<void> {
  for await (const name of glob(`${TEMPORARY}*`, { cwd: tmpdir() })) {
    const folder = join(tmpdir(), name)
    const { mtimeMs = Infinity } = (await stat(folder).catch(() => undefined)) ?? {}
    if (mtimeMs < Date.now() - LEFT_OVER_MS) await rm(folder, { recursive: true, force: true })
  }
}
