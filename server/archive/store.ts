import { copyFile, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import type { ArchivePlace } from '../config/values.ts'

/** Where the files of the archive are. Every call throws what the folder or the bucket says. */
export interface ArchiveStore extends Disposable {
  /** As people write it in `HISTORY_ARCHIVE`. */
  name: string
  /** The names of all files whose name begins like this, such as `day=2026-08-01/messages.parquet`. */
  list(prefix?: string): Promise<string[]>
  /** Copies a local file into the archive, in place of one with this name. A reader sees the whole of it or nothing. */
  put(name: string, file: string): Promise<void>
  /** Copies a file of the archive to a local one. */
  get(name: string, file: string): Promise<void>
  /** Reads a small file; undefined when there is none. */
  read(name: string): Promise<string | undefined>
}

/** The SDK of AWS is loaded for a bucket alone: it costs a process 40 MB. */
export async function openStore(place: ArchivePlace): Promise<ArchiveStore> {
  return 'folder' in place ? folderStore(place.folder) : (await import('./bucket-store.ts')).bucketStore(place)
}

/** A file that a crash left half written. */
const UNFINISHED = '.unfinished'

function folderStore(folder: string): ArchiveStore {
  return {
    name: folder,
    async list(prefix = '') {
      const entries = await readdir(folder, { recursive: true, withFileTypes: true })
      const names = entries
        .filter((entry) => entry.isFile() && !entry.name.endsWith(UNFINISHED))
        .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
      return names.filter((name) => name.startsWith(prefix)).toSorted()
    },
    async put(name, file) {
      const path = join(folder, name)
      await mkdir(dirname(path), { recursive: true })
      const unfinished = join(dirname(path), `.${basename(path)}${UNFINISHED}`)
      try {
        await copyFile(file, unfinished)
        await sync(unfinished)
        await rename(unfinished, path)
      } catch (error) {
        await rm(unfinished, { force: true })
        throw error
      }
      await sync(dirname(path))
    },
    get: (name, file) => copyFile(join(folder, name), file),
    read: (name) =>
      readFile(join(folder, name), 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return undefined
        throw error
      }),
    [Symbol.dispose]() {},
  }
}

/** A file or folder that survives a power cut. */
async function sync(path: string): Promise<void> {
  const handle = await open(path)
  await handle.sync().finally(() => handle.close())
}
