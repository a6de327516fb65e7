import { expect, test } from 'vitest'
import { hashKey, kindOfKey } from '../../server/access/api-key.ts'
import { createKey, listKeys, revokeKey } from '../../server/access/api-keys.ts'
import { SCOPES, SCOPES_OF } from '../../server/access/scopes.ts'
import { apiKeys } from '../../server/db/schema.ts'
import { createAccount, listAccounts } from '../../server/directory/accounts.ts'
import { nameCell, namesInKeys, readCell } from '../../server/directory/cell.ts'
import { testAccount } from '../harness/account.ts'
import { words } from '../harness/text.ts'

const account = await testAccount()
const { db, clock } = account

const newKey = { name: 'shop', kind: 'live', scopes: ['emails.send'] } as const

test('an account is created and listed, the oldest first', async () => {
  const first = await createAccount(db, clock, 'First')
  // Ids of the same millisecond have no order.
  const later = { ...clock, now: () => clock.now() + 1 }
  const second = await createAccount(db, later, 'Second')
  expect(first).toMatchObject({ name: 'First', tier: null })
  expect((await listAccounts(db)).slice(-2)).toEqual([first, second])
})

test('a key is shown once; the database keeps its hash and its first characters', async () => {
  const { id: accountId } = await createAccount(db, clock, 'Keys')
  const expiresAt = new Date('2099-01-01T00:00:00Z')
  const { key, apiKey } = await createKey(db, clock, { accountId, ...newKey, kind: 'test', expiresAt })
  expect(apiKey).toMatchObject({
    accountId,
    name: 'shop',
    hint: key.slice(0, 13),
    test: true,
    expiresAt,
    lastUsedAt: null,
  })
  const [row] = await db.select().from(apiKeys)
  expect(row!.hash.equals(hashKey(key))).toBe(true)
  expect(JSON.stringify([row, apiKey, await listKeys(db, accountId)])).not.toContain(key.slice(13))
  expect(apiKey).not.toHaveProperty('hash')
})

test('in a cell, a new key and its first characters carry the name; a key of before stays as it is', async () => {
  const own = await testAccount()
  const { id: accountId } = await createAccount(own.db, clock, 'Cell')
  const before = await createKey(own.db, clock, { accountId, ...newKey })
  expect(await readCell(own.db)).toBeUndefined()
  await nameCell(own.db, 'a1')
  await nameCell(own.db, 'b2')
  expect(await readCell(own.db)).toBe('b2')
  const { key, apiKey } = await createKey(own.db, clock, { accountId, ...newKey })
  expect(key).toMatch(/^svc_live_b2[0-9A-Za-z]{47}$/)
  expect(kindOfKey(key)).toBe('live')
  expect(apiKey.hint).toBe(key.slice(0, 15))
  expect(before.apiKey.hint).toBe(before.key.slice(0, 13))
  expect(await namesInKeys(own.db)).toEqual([...new Set([before.key.slice(9, 11), 'b2'])].sort())
})

test('a test key can be created with the scopes to send and to read, and with no others', async () => {
  const { id: accountId } = await createAccount(db, clock, 'Test keys')
  const make = (...scopes: string[]) => createKey(db, clock, { accountId, name: 'ci', kind: 'test', scopes })
  expect((await make(...SCOPES_OF.test)).apiKey.scopes).toEqual(
    words(`
    domains.read emails.read emails.send events.read stats.read suppression.read webhooks.read
  `),
  )
  await expect(make('emails.send', 'domains.write', 'events.replay')).rejects.toMatchObject({
    rawMessage: expect.stringMatching(
      /^A test key cannot have domains\.write, events\.replay: it changes nothing that live mail depends on\. It can have /,
    ),
  })
  await expect(make('emails.sned')).rejects.toMatchObject({
    rawMessage: expect.stringMatching(/^No such scope: emails/),
  })
})

test('only the keys of the account are listed', async () => {
  const mine = await createAccount(db, clock, 'Mine')
  const other = await createAccount(db, clock, 'Other')
  const { apiKey } = await createKey(db, clock, { accountId: mine.id, ...newKey })
  await createKey(db, clock, { accountId: other.id, ...newKey })
  expect(await listKeys(db, mine.id)).toEqual([apiKey])
})

test('only its own account can revoke a key, and a second revocation changes nothing', async () => {
  const mine = await createAccount(db, clock, 'Mine')
  const other = await createAccount(db, clock, 'Other')
  const { apiKey } = await createKey(db, clock, { accountId: mine.id, ...newKey })
  expect(await revokeKey(db, other.id, apiKey.id)).toBeUndefined()
  expect((await listKeys(db, mine.id))[0]!.revokedAt).toBeNull()
  const revoked = await revokeKey(db, mine.id, apiKey.id)
  // The database dates the revocation, a busy machine seconds after the clock.
  expect(Math.abs(revoked!.revokedAt!.getTime() - clock.now())).toBeLessThan(5000)
  expect(await revokeKey(db, mine.id, apiKey.id)).toEqual(revoked)
})

test('the scopes are those that the methods of the contract require', () => {
  expect(SCOPES).toEqual(
    words(`
    domains.read domains.write emails.read emails.send events.read events.replay stats.read suppression.read
    suppression.write webhooks.read webhooks.write
  `),
  )
})
