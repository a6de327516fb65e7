import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { seed } from '../../dev/seed.ts'
import { listAccounts } from '../../server/access/accounts.ts'
import { listKeys, revokeKey } from '../../server/access/keys.ts'
import { listDomains } from '../../server/domains/domains.ts'
import { type TestDatabase, testDatabase } from '../harness/postgres.ts'

const encryptionKeys = `dev:${randomBytes(32).toString('base64')}`
let folder: string
let database: TestDatabase

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'verdict-seed-'))
  database = await testDatabase()
})

afterAll(async () => {
  await database.drop()
  await rm(folder, { recursive: true })
})

const keysFile = () => join(folder, 'keys.json')
const again = (databaseUrl = database.url) => seed({ databaseUrl, encryptionKeys, keysFile: keysFile() })

test('there is one account without a tier, one verified domain with a DKIM key that DNS is not asked about, one live and one test key', async () => {
  const keys = await again()
  const [account, ...others] = await listAccounts(database.db)
  expect([account, others]).toMatchObject([{ name: 'Development', tier: null }, []])
  const domains = await listDomains(database.db, account!.id)
  const kept = { status: 'verified', nextCheckAt: null, warmsUp: false }
  expect(domains).toMatchObject([{ name: 'example.test', ...kept, dkimKeys: [{ algorithm: 'rsa' }] }])
  expect((await listKeys(database.db, account!.id)).map(({ test }) => test)).toEqual([false, true])
  expect(JSON.parse(await readFile(keysFile(), 'utf8'))).toEqual(keys)
  expect((await stat(keysFile())).mode & 0o777).toBe(0o600)
})

test('seeding again changes nothing', async () => {
  const before = await again()
  expect(await again()).toEqual(before)
  const [account, ...others] = await listAccounts(database.db)
  expect(others).toEqual([])
  expect(await listKeys(database.db, account!.id)).toHaveLength(2)
})

test('a kept key that was revoked is replaced', async () => {
  const before = await again()
  const [account] = await listAccounts(database.db)
  const [live] = await listKeys(database.db, account!.id)
  await revokeKey(database.db, account!.id, live!.id)
  const after = await again()
  expect(after.live).not.toBe(before.live)
  expect(await again()).toEqual(after)
})

test('kept keys of another database are replaced', async () => {
  const before = await again()
  const other = await testDatabase()
  expect((await again(other.url)).live).not.toBe(before.live)
  await other.drop()
})
