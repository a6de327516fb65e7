import { randomBytes } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { seed } from '../../dev/seed.ts'
import { listKeys, revokeKey } from '../../server/access/api-keys.ts'
import { listAccounts } from '../../server/directory/accounts.ts'
import { listDomains } from '../../server/domains/domains.ts'
import { testDatabase } from '../harness/postgres.ts'
import { temporaryFolder } from '../harness/until-end.ts'

const encryptionKeys = `dev:${randomBytes(32).toString('base64')}`

const folder = temporaryFolder()
const database = await testDatabase()

const keysFile = () => join(folder, 'keys.json')
const runSeed = (databaseUrl = database.url) => seed({ databaseUrl, encryptionKeys, keysFile: keysFile() })

test('the seed is one account without a tier, one verified domain with a DKIM key and no DNS checks, one live and one test key', async () => {
  const keys = await runSeed()
  const [account, ...others] = await listAccounts(database.db)
  expect([account, others]).toMatchObject([{ name: 'Development', tier: null }, []])
  const domains = await listDomains(database.db, account!.id)
  const unchecked = { status: 'verified', nextCheckAt: null, warmsUp: false }
  expect(domains).toMatchObject([{ name: 'example.test', ...unchecked, dkimKeys: [{ algorithm: 'rsa' }] }])
  expect((await listKeys(database.db, account!.id)).map(({ test }) => test)).toEqual([false, true])
  expect(JSON.parse(await readFile(keysFile(), 'utf8'))).toEqual(keys)
  expect((await stat(keysFile())).mode & 0o777).toBe(0o600)
})

test('seeding again changes nothing', async () => {
  const before = await runSeed()
  expect(await runSeed()).toEqual(before)
  const [account, ...others] = await listAccounts(database.db)
  expect(others).toEqual([])
  expect(await listKeys(database.db, account!.id)).toHaveLength(2)
})

test('seeding again replaces a stored key that was revoked', async () => {
  const before = await runSeed()
  const [account] = await listAccounts(database.db)
  const [live] = await listKeys(database.db, account!.id)
  await revokeKey(database.db, account!.id, live!.id)
  const after = await runSeed()
  expect(after.live).not.toBe(before.live)
  expect(await runSeed()).toEqual(after)
})

test('seeding again replaces stored keys of another database', async () => {
  const before = await runSeed()
  const other = await testDatabase()
  expect((await runSeed(other.url)).live).not.toBe(before.live)
})
