import { randomBytes } from 'node:crypto'
import { userInfo } from 'node:os'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { runCli as verdict } from '../../cli/run.ts'
import { asc } from '../../server/db/drizzle.ts'
import { auditEntries } from '../../server/db/people-schema.ts'
import { EVERYBODY } from '../../server/db/schema.ts'
import { testDatabase } from '../harness/postgres.ts'

const database = await testDatabase()
beforeEach(() => {
  const ENCRYPTION_KEYS = `k1:${randomBytes(32).toString('base64')}`
  for (const [name, value] of Object.entries({ DATABASE_URL: database.url, ENCRYPTION_KEYS, VERDICT_URL: '' })) {
    vi.stubEnv(name, value)
  }
})
afterEach(() => void vi.unstubAllEnvs())

test("the operator's changes are in the audit log, under the name of the operating system's user", async () => {
  await verdict(['accounts', 'create', 'Shop'])
  await verdict(['accounts', 'tier', 'free', '--account', 'Shop'])
  await verdict(['accounts', 'tier', 'free', '--account', 'Shop'])
  await verdict(['accounts', 'rename', 'Store', '--account', 'Shop'])
  await verdict(['accounts', 'rename', 'Store', '--account', 'Store'])
  await verdict(['accounts', 'rename', 'Shop', '--account', 'Store'])
  const { json: key } = await verdict(['keys', 'create', 'ci', '--test', '--account', 'Shop'])
  const { key: secret, key_id } = key as Record<string, string>
  await verdict(['keys', 'revoke', key_id!, '--account', 'Shop'])
  await verdict(['domains', 'add', 'example.com', '--account', 'Shop'])
  await verdict(['domains', 'add', 'example.com', '--verified', '--account', 'Shop'])
  await verdict(['domains', 'rotate', 'example.com', '--account', 'Shop'])
  await verdict(['domains', 'remove', 'example.com', '--account', 'Shop'])
  await verdict(['suppression', 'add', 'ann@example.com', '--global'])
  await verdict(['suppression', 'remove', 'ann@example.com', '--global'])

  const rows = await database.db.select().from(auditEntries).orderBy(asc(auditEntries.id))
  const operator = { actorKind: 'operator', actorId: null, actorName: userInfo().username, remoteAddress: null }
  for (const row of rows) expect(row).toMatchObject(operator)
  const [{ accountId: shop } = { accountId: '' }] = rows
  expect(rows.map(({ accountId, action, target }) => [accountId === shop, action, target])).toEqual([
    [true, 'account.create', 'Shop'],
    [true, 'account.tier', 'Shop'],
    [true, 'account.rename', 'Store'],
    [true, 'account.rename', 'Shop'],
    [true, 'key.create', 'ci'],
    [true, 'key.revoke', 'ci'],
    [true, 'domain.create', 'example.com'],
    [true, 'domain.change', 'example.com'],
    [true, 'dkim.rotate', 'example.com'],
    [true, 'domain.delete', 'example.com'],
    [false, 'suppression.add', 'ann@example.com'],
    [false, 'suppression.remove', 'ann@example.com'],
  ])
  expect(rows[1]).toMatchObject({ before: { tier: null }, after: { tier: 'free' } })
  expect(rows[2]).toMatchObject({ before: { name: 'Shop' }, after: { name: 'Store' } })
  expect(rows[7]).toMatchObject({ before: { status: 'pending' }, after: { status: 'verified' } })
  expect(rows.at(-1)!.accountId).toBe(EVERYBODY)
  expect(JSON.stringify(rows)).not.toContain(secret)
})
