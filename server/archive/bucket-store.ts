import { randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { GetObjectCommand, NoSuchKey, paginateListObjectsV2, S3Client } from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import type { ArchivePlace } from '../config/values.ts'
import type { ArchiveStore } from './store.ts'

/** The SDK of AWS reads region, keys and endpoint from its own variables. */
export function bucketStore(
  { bucket, prefix }: Extract<ArchivePlace, { bucket: string }>,
  temporary: string,
): ArchiveStore {
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
    put: (name, write) =>
      withCopy(temporary, async (file) => {
        const written = await write(file)
        const params = { Bucket: bucket, Key: keyOf(name), Body: createReadStream(file) }
        await new Upload({ client, params }).done()
        return written
      }),
    read: (name, use) =>
      withCopy(temporary, async (file) => {
        await pipeline((await body(name)) as Readable, createWriteStream(file))
        return use(file)
      }),
    async text(name) {
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

async function withCopy<T>(temporary: string, use: (file: string) => Promise<T>): Promise<T> {
  const file = join(temporary, `copy-${randomUUID()}`)
  try {
    return await use(file)
  } finally {
    await rm(file, { force: true })
  }
}
