import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { eraseIn, mentionsIn } from '../../../server/archive/addresses.ts'
import { archiveDay, checkFile } from '../../../server/archive/archive-day.ts'
import { daysOf, fileOfTable, manifestOf, readManifest, TABLES } from '../../../server/archive/days.ts'
import { withArchive } from '../../../server/archive/open.ts'
import { wantedAddress } from '../../../server/erasure/spellings.ts'
import { createErasedForm } from '../../../server/reputation/erased-form.ts'
import { untilEnd } from '../../harness/until-end.ts'
import { type Api, startApi } from '../../services/api.ts'
import { type Bucket, startBucket } from './versitygw.ts'

// The archive in a bucket of a real S3 server.

let api: Api
let bucket: Bucket
beforeAll(async () => {
  bucket = untilEnd(await startBucket())
  api = await startApi()
  for (const to of ['ann@example.net', 'bob@example.net']) await api.send({ to, subject: `For ${to}` })
})
afterEach(() => use({}))

/** Sets the variables of the bucket, with these changes. */
function use(change: Record<string, string>): void {
  Object.assign(process.env, bucket.env, change)
}

const today = () => new Date().toISOString().slice(0, 10)
const place = (prefix = 'eu/', name = bucket.bucket) => ({ bucket: name, prefix })
const write = (where = place()) => withArchive(where, (parts) => archiveDay({ db: api.world.db, ...parts }, today()))

test('a day is written into a bucket, found, read back and verified', async () => {
  use({})
  await write()
  expect((await readdir(join(bucket.folder, 'eu', `day=${today()}`))).toSorted()).toEqual(
    ['manifest.json', ...TABLES.map((table) => `${table}.parquet`)].toSorted(),
  )
  await withArchive(place(), async (parts) => {
    expect(await daysOf(parts.store)).toEqual([today()])
    const { tables } = await readManifest(parts.store, today())
    expect(tables.messages!.rows).toBe(2)
    for (const table of TABLES) await checkFile(parts, { day: today(), table, facts: tables[table]! })
  })
})

test('an address is erased in a bucket, and a bucket that is shared keeps what others have there', async () => {
  use({})
  await write()
  await writeFile(join(bucket.folder, 'others.txt'), 'ann@example.net')
  const wanted = wantedAddress('ann@example.net', createErasedForm(new Uint8Array(32)))
  expect(await withArchive(place(), (parts) => eraseIn(parts, { wanted }))).toEqual({ [today()]: 3 })
  await withArchive(place(), async (parts) => {
    for await (const found of mentionsIn(parts, { wanted })) expect(found).toBeUndefined()
  })
  expect(await withArchive(place(''), ({ store }) => store.list('others'))).toEqual(['others.txt'])
})

test.for([
  ['a wrong secret', { AWS_SECRET_ACCESS_KEY: 'wrong' }, /signature/i],
  ['another region', { AWS_REGION: 'us-west-2' }, /region|authorization header/i],
  [
    'no credentials',
    { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '', AWS_EC2_METADATA_DISABLED: 'true' },
    /credential/i,
  ],
  ['a server that is away', { AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:9' }, /ECONNREFUSED/],
] as const)('%s: the error has the words of the server', async ([, change, words]) => {
  use(change)
  await expect(write(place('other/'))).rejects.toThrow(words)
})

test('a bucket that does not exist is an error, and a day whose upload broke off is no day of the archive', async () => {
  use({})
  await expect(write(place('', 'nowhere'))).rejects.toThrow(/bucket/i)
  await write(place('broken/'))
  await rm(join(bucket.folder, 'broken', manifestOf(today())))
  await withArchive(place('broken/'), async ({ store }) => {
    expect(await store.list()).toContain(fileOfTable(today(), 'messages'))
    expect(await daysOf(store)).toEqual([])
  })
})
