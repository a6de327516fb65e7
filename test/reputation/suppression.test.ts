import { randomBytes } from 'node:crypto'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import { expect, test } from 'vitest'
import { SuppressionReason, SuppressionScope } from '../../gen/verdict/v1/outcomes_pb.ts'
import { databaseTime } from '../../server/db/clock.ts'
import { createSealer } from '../../server/db/encryption.ts'
import { newId } from '../../server/db/ids.ts'
import { EVERYBODY, suppressions } from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { makeErasureKey } from '../../server/reputation/erasure-key.ts'
import { createSuppressionLookup } from '../../server/reputation/suppression.ts'
import { testDatabase } from '../harness/postgres.ts'

const database = await testDatabase()

const sealer = createSealer([{ id: 'k1', key: randomBytes(32) }])
const lookUp = createSuppressionLookup(database.db, sealer)
const account = newId(Date.now())
const stranger = newId(Date.now())

async function suppress(email: string, change: Partial<typeof suppressions.$inferInsert> = {}) {
  const id = newId(Date.now())
  await database.db
    .insert(suppressions)
    .values({ id, accountId: account, tenantId: '', email, reason: 'manual', ...change })
}

async function scopeFor(email: string, tenantId?: string, accountId = account) {
  return (await lookUp({ accountId, tenantId, addresses: [email] })).get(email)?.scope
}

test('a look-up finds global entries, those of the account, and those of a tenant when one is named', async () => {
  await suppress('global@a.example', { accountId: EVERYBODY })
  await suppress('account@a.example')
  await suppress('tenant@a.example', { tenantId: 'acme' })
  expect(await scopeFor('global@a.example')).toBe(SuppressionScope.GLOBAL)
  expect(await scopeFor('account@a.example')).toBe(SuppressionScope.ACCOUNT)
  expect(await scopeFor('account@a.example', 'acme')).toBe(SuppressionScope.ACCOUNT)
  expect(await scopeFor('tenant@a.example', 'acme')).toBe(SuppressionScope.TENANT)
  expect(await scopeFor('tenant@a.example')).toBeUndefined()
  expect(await scopeFor('tenant@a.example', 'other')).toBeUndefined()
  expect(await scopeFor('free@a.example', 'acme')).toBeUndefined()
})

test('entries of another account never apply, even for a tenant of the same name', async () => {
  await suppress('theirs@a.example', { accountId: stranger })
  await suppress('theirs@a.example', { accountId: stranger, tenantId: 'acme' })
  expect(await scopeFor('theirs@a.example')).toBeUndefined()
  expect(await scopeFor('theirs@a.example', 'acme')).toBeUndefined()
  expect(await scopeFor('theirs@a.example', undefined, stranger)).toBe(SuppressionScope.ACCOUNT)
})

test('of several entries the widest is returned, with its cause and time', async () => {
  const email = 'thrice@a.example'
  await suppress(email, { tenantId: 'acme', reason: 'manual' })
  await suppress(email, { reason: 'complaint', createdAt: new Date('2026-01-02T03:04:05.678Z') })
  const entry = (await lookUp({ accountId: account, tenantId: 'acme', addresses: [email] })).get(email)!
  expect(entry.scope).toBe(SuppressionScope.ACCOUNT)
  expect(entry.cause).toBe(SuppressionReason.COMPLAINT)
  expect(timestampMs(entry.since!)).toBe(Date.parse('2026-01-02T03:04:05.678Z'))
  await suppress(email, { accountId: EVERYBODY })
  expect(await scopeFor(email, 'acme')).toBe(SuppressionScope.GLOBAL)
})

test("an entry that has expired by the database's clock does not apply", async () => {
  const now = await databaseTime(database.db)
  await suppress('over@a.example', { expiresAt: new Date(now - 1) })
  await suppress('week@a.example', { expiresAt: new Date(now + 60_000) })
  await suppress('narrow@a.example', { expiresAt: new Date(now - 1) })
  await suppress('narrow@a.example', { tenantId: 'acme' })
  expect(await scopeFor('over@a.example')).toBeUndefined()
  expect(await scopeFor('week@a.example')).toBe(SuppressionScope.ACCOUNT)
  expect(await scopeFor('narrow@a.example', 'acme')).toBe(SuppressionScope.TENANT)
})

test('look-ups that share a statement each get their own result', async () => {
  const names = Array.from({ length: 60 }, (_, i) => `crowd${i}@a.example`)
  for (const [i, email] of names.entries()) if (i % 3 === 0) await suppress(email, { tenantId: i % 2 ? 'odd' : '' })
  const answers = await Promise.all(
    names.map((email, i) =>
      lookUp({ accountId: i % 5 ? account : stranger, tenantId: 'odd', addresses: [email, 'x@y.example'] }),
    ),
  )
  for (const [i, answer] of answers.entries()) {
    const holds = i % 3 === 0 && i % 5 !== 0
    expect([...answer.keys()], names[i]).toEqual(holds ? [names[i]] : [])
  }
})

test('a look-up that the database cannot read fails alone', async () => {
  await suppress('beside@a.example')
  const asked = ['a', 'b', 'c', 'd'].map((tenantId) =>
    lookUp({ accountId: account, tenantId, addresses: ['beside@a.example'] }),
  )
  await expect(lookUp({ accountId: account, tenantId: '\0', addresses: ['beside@a.example'] })).rejects.toThrow()
  for (const answer of await Promise.all(asked)) expect(answer.size).toBe(1)
})

test('when the key of erasures is lost every look-up fails, and after its row is deleted they work again', async () => {
  await makeErasureKey(database.db, createSealer([{ id: 'lost', key: randomBytes(32) }]))
  await expect(scopeFor('account@a.example')).rejects.toThrow('a key that ENCRYPTION_KEYS does not name: "lost"')
  await run(database.db, 'delete from erasure_keys')
  expect(await scopeFor('account@a.example')).toBe(SuppressionScope.ACCOUNT)
})
