import { randomBytes } from 'node:crypto'
import { timestampFromDate, timestampFromMs } from '@bufbuild/protobuf/wkt'
import { ConnectError, createServiceImplSpec } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import { KeyService } from '../../gen/verdict/admin/v1/keys_pb.ts'
import { kindOfKey } from '../../server/access/api-key.ts'
import { createIdentify } from '../../server/access/identify.ts'
import { SCOPES, SCOPES_OF } from '../../server/access/scopes.ts'
import { createKeyService } from '../../server/admin/keys.ts'
import { and, eq } from '../../server/db/drizzle.ts'
import { newId, publicId } from '../../server/db/ids.ts'
import { auditEntries } from '../../server/db/people-schema.ts'
import { apiKeys } from '../../server/db/schema.ts'
import { createAccount } from '../../server/directory/accounts.ts'
import { contentsOfError } from '../../server/errors.ts'
import { testAccount } from '../harness/account.ts'
import { faultsOf, startDashboard } from '../harness/person.ts'

const account = await testAccount()
const service = createServiceImplSpec<typeof KeyService>(KeyService, createKeyService(account))
const dashboard = await startDashboard({ ...account, services: [service] })
const ann = await dashboard.person({ accountId: account.accountId, role: 'member' })
const keys = ann.client(KeyService)

test('a new key is shown once, works, and is listed without its secret', async () => {
  const expiresAt = timestampFromDate(new Date('2099-01-01T00:00:00Z'))
  const scopes = ['emails.send', 'emails.read', 'emails.send']
  const { key, apiKey } = await keys.createKey({ name: ' Shop ', scopes, expiresAt })
  expect(kindOfKey(key)).toBe('live')
  const shown = { name: 'Shop', test: false, scopes: ['emails.send', 'emails.read'], expiresAt, hint: key.slice(0, 13) }
  expect(apiKey).toMatchObject(shown)
  expect(apiKey!.lastUsedAt).toBeUndefined()
  expect(apiKey!.revokedAt).toBeUndefined()
  const visitor = { authorization: `Bearer ${key}`, remoteAddress: '192.0.2.1', tellRate: () => {} }
  const stored = await createIdentify(account)(visitor)
  expect(stored?.caller.accountId).toBe(account.accountId)
  const listed = await keys.listKeys({})
  expect(listed.keys[0]).toEqual(apiKey)
  expect(JSON.stringify(listed, (_, value) => (typeof value === 'bigint' ? `${value}` : value))).not.toContain(key)
})

test('keys are listed newest first, revoked and expired ones too, with the scopes that keys can have', async () => {
  const { apiKey: older } = await keys.createKey({ name: 'older', test: true, scopes: ['emails.send'] })
  const { apiKey: newer } = await keys.createKey({ name: 'newer', scopes: ['emails.send'] })
  await keys.revokeKey({ keyId: older!.keyId })
  await account.db
    .update(apiKeys)
    .set({ expiresAt: new Date(0) })
    .where(eq(apiKeys.name, 'newer'))
  const listed = await keys.listKeys({})
  expect(listed.keys.slice(0, 2)).toMatchObject([
    { keyId: newer!.keyId, expiresAt: timestampFromMs(0) },
    { keyId: older!.keyId, test: true, revokedAt: expect.anything() },
  ])
  expect(listed.liveScopes).toEqual(SCOPES)
  expect(listed.testScopes).toEqual(SCOPES_OF.test)
})

test('every faulty field of a new key is named at once, with what to do', async () => {
  const expiresAt = timestampFromMs(Math.floor(account.clock.now()) - 1)
  const { reason, fields } = await faultsOf(keys.createKey({ name: ' ', scopes: [], expiresAt }))
  expect(reason).toBe('invalid_payload')
  expect(fields).toEqual([
    { field: 'name', message: 'is required' },
    { field: 'scopes', message: 'must name at least one scope' },
    { field: 'expires_at', message: 'must be in the future' },
  ])
})

test.each([
  ['a long name', { name: 'x'.repeat(101) }, 'name', 'must have 1 to 100 characters'],
  ['a name with a line break', { name: 'a\nb' }, 'name', /^must not contain U\+000A: /],
  ['an unknown scope', { scopes: ['all'] }, 'scopes', /^are not all allowed\. No such scope: all\. Scopes are /],
  [
    'a test key that changes domains',
    { test: true, scopes: ['domains.write'] },
    'scopes',
    /^are not all allowed\. A test key cannot have domains\.write: .+ It can have [a-z., ]+[a-z]$/,
  ],
  [
    'an expiry after the year 9999',
    { expiresAt: timestampFromMs(253_402_300_800_000) },
    'expires_at',
    'must be a time from 1970 to 9999',
  ],
])('refused: %s', async (_, change, field, message) => {
  const { fields } = await faultsOf(keys.createKey({ name: 'x', scopes: ['emails.send'], ...change }))
  const expected = typeof message === 'string' ? message : expect.stringMatching(message)
  expect(fields).toEqual([{ field, message: expected }])
})

test('a name of 100 characters beyond the basic plane is accepted', async () => {
  const name = '🦉'.repeat(100)
  expect((await keys.createKey({ name, scopes: ['emails.send'] })).apiKey?.name).toBe(name)
})

test('revoking a key again keeps the time of its first revocation', async () => {
  const { apiKey } = await keys.createKey({ name: 'twice', scopes: ['emails.send'] })
  const first = await keys.revokeKey({ keyId: apiKey!.keyId })
  expect(first.apiKey?.revokedAt).toBeDefined()
  expect(await keys.revokeKey({ keyId: apiKey!.keyId })).toEqual(first)
})

test('a key of another account does not exist, and is not listed', async () => {
  const { id } = await createAccount(account.db, account.clock, 'Other')
  const other = (await dashboard.person({ accountId: id })).client(KeyService)
  const { apiKey } = await other.createKey({ name: 'theirs', scopes: ['emails.send'] })
  const theirs = await faultsOf(keys.revokeKey({ keyId: apiKey!.keyId }))
  const unknown = await faultsOf(keys.revokeKey({ keyId: publicId('key', account.accountId) }))
  expect(theirs).toEqual(unknown)
  expect(theirs).toMatchObject({ reason: 'not_found', message: 'There is no such key in this account.' })
  expect(await faultsOf(keys.revokeKey({ keyId: 'x' }))).toEqual(unknown)
  expect((await keys.listKeys({})).keys.map(({ name }) => name)).not.toContain('theirs')
  expect((await other.listKeys({})).keys).toEqual([apiKey])
})

test('the audit log has who created and revoked a key', async () => {
  const { key, apiKey } = await keys.createKey({ name: 'audited', scopes: ['emails.send'] })
  await keys.revokeKey({ keyId: apiKey!.keyId })
  await faultsOf(keys.createKey({ name: 'audited', scopes: [] }))
  const { db, accountId } = account
  const rows = await db
    .select()
    .from(auditEntries)
    .where(and(eq(auditEntries.accountId, accountId), eq(auditEntries.target, 'audited')))
    .orderBy(auditEntries.id)
  const actor = { actorKind: 'person', actorId: ann.personId, actorName: ann.email, remoteAddress: '127.0.0.1' }
  expect(rows).toMatchObject([
    { ...actor, action: 'key.create', after: { key_id: apiKey!.keyId, test: false, scopes: ['emails.send'] } },
    { ...actor, action: 'key.revoke', before: { revoked_at: null } },
  ])
  expect(JSON.stringify(rows)).not.toContain(key)
})

test('people make an account 1,000 keys, revoked ones too, however many calls come at once', async () => {
  const crowded = await testAccount(account)
  const person = await dashboard.person({ accountId: crowded.accountId, role: 'member' })
  const { db } = account
  const row = {
    accountId: crowded.accountId,
    name: 'old',
    hint: 'svc_live_',
    test: false,
    scopes: [],
    revokedAt: new Date(),
  }
  const rows = Array.from({ length: 997 }, () => ({ ...row, id: newId(Date.now()), hash: randomBytes(32) }))
  await db.insert(apiKeys).values(rows)
  const client = person.client(KeyService)
  const calls = Array.from({ length: 20 }, () => client.createKey({ name: 'one more', scopes: ['emails.send'] }))
  const ends = await Promise.allSettled(calls)
  expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
  const [{ reason: refused }] = ends.filter((end) => end.status === 'rejected') as [PromiseRejectedResult]
  expect(contentsOfError(ConnectError.from(refused))).toMatchObject({ reason: 'invalid_payload' })
  expect((await client.listKeys({})).keys).toHaveLength(1_000)
})
