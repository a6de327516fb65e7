import { createReadStream, createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { GetObjectCommand, NoSuchKey, paginateListObjectsV2, S3Client } from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import type { ArchivePlace } from '../config/values.ts'
import type { ArchiveStore } from './store.ts'

/** The SDK of AWS reads region, keys and endpoint from its own variables. */
export function bucketStore({ bucket, prefix }: Extract<ArchivePlace, { bucket: string }>): ArchiveStore {
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
