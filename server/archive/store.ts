import { createReadStream, createWriteStream } from 'node:fs'
import { copyFile, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { GetObjectCommand, NoSuchKey, paginateListObjectsV2, S3Client } from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
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

export function openStore(place: ArchivePlace): ArchiveStore {
  return 'folder' in place ? folderStore(place.folder) : bucketStore(place)
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

/** The SDK of AWS reads region, keys and endpoint from its own variables. */
function bucketStore({ bucket, prefix }: Extract<ArchivePlace, { bucket: string }>): ArchiveStore {
  // Servers other than Amazon's have no host for each bucket.
  const client = new S3Client({ forcePathStyle: true })
  const keyOf = (name: string) => prefix + name
  const body = async (name: string) =>
    (await client.send(new GetObjectCommand({ Bucket: bucket, Key: keyOf(name) }))).Body!
  return {
    name: `s3://${bucket}/${prefix}`,
    async list(start = '') {
      const names: string[] = []
      for await (const page of paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: keyOf(start) }))
        names.push(...(page.Contents ?? []).map(({ Key }) => Key!.slice(prefix.length)))
      return names
    },
    async put(name, file) {
      const params = { Bucket: bucket, Key: keyOf(name), Body: createReadStream(file) }
      await new Upload({ client, params }).done()
    },
    async get(name, file) {
      const stream = await body(name)
      await pipeline(stream instanceof Readable ? stream : Readable.from(stream as never), createWriteStream(file))
    },
    async read(name) {
      try {
        return await (await body(name)).transformToString()
      } catch (error) {
        if (error instanceof NoSuchKey) return undefined
        throw error
      }
    },
    [Symbol.dispose]: () => client.destroy(),
  }
}
