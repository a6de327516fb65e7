import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'

/** Where the files of the archive are. Every call throws what the folder or the bucket says. */
export interface ArchiveStore extends Disposable {
  /** As people write it in `HISTORY_ARCHIVE`. */
  name: string
  /** The names of all files whose name begins like this, such as `day=2026-08-01/messages.parquet`. */
  list(prefix?: string): Promise<string[]>
  /**
   * Stores the file that `write` writes at the path that it gets, in place of one with this name. A reader sees the
   * whole of it or nothing. Returns what `write` does.
   */
  put<T>(name: string, write: (path: string) => Promise<T>): Promise<T>
  /** Passes the path of a local copy, or of the file itself where it is local, which `use` does not change. */
  read<T>(name: string, use: (path: string) => Promise<T>): Promise<T>
  /** The text of a small file; undefined when there is none. */
  text(name: string): Promise<string | undefined>
}

/** A file that a crash left half written. */
const UNFINISHED = '.unfinished'

export function folderStore(folder: string): ArchiveStore {
  return {
    name: folder,
    async list(prefix = '') {
      const entries = await readdir(folder, { recursive: true, withFileTypes: true })
      const names = entries
        .filter((entry) => entry.isFile() && !entry.name.endsWith(UNFINISHED))
        .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
      return names.filter((name) => name.startsWith(prefix)).toSorted()
    },
    async put(name, write) {
      const path = join(folder, name)
      await mkdir(dirname(path), { recursive: true })
      const unfinished = join(dirname(path), `.${basename(path)}${UNFINISHED}`)
      try {
        const written = await write(unfinished)
        await sync(unfinished)
        await rename(unfinished, path)
        await sync(dirname(path))
        return written
      } catch (error) {
        await rm(unfinished, { force: true })
        throw error
      }
    },
    read: (name, use) => use(join(folder, name)),
    text: (name) =>
      readFile(join(folder, name), 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return undefined
        throw error
      }),
    [Symbol.dispose]() {},
  }
}

/** A file or folder that survives a power cut. */
async function sync(path: string): Promise<void> {
  await using handle = await open(path)
  await handle.sync()
}
