import { randomUUID } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createKey } from '../../../server/access/api-keys.ts'
import { ACTIONS } from '../../../server/access/audit/actions.ts'
import { type Author, record } from '../../../server/access/audit/record-change.ts'
import { eq } from '../../../server/db/drizzle.ts'
import { timeOfId } from '../../../server/db/ids.ts'
import { auditEntries } from '../../../server/db/people-schema.ts'
import { run } from '../../../server/db/statement.ts'
import { testAccount } from '../../harness/account.ts'

const account = await testAccount()
const author: Author = { accountId: account.accountId, actor: { kind: 'operator', name: 'ann' } }

const entriesOf = (target: string) => account.db.select().from(auditEntries).where(eq(auditEntries.target, target))

test('an entry says who changed what, when and from where', async () => {
  const id = randomUUID()
  await record(account.db, {
    accountId: account.accountId,
    actor: { kind: 'person', id, email: 'ann@example.com' },
    action: 'person.invite',
    target: 'bob@example.com',
    after: { role: 'member' },
    remoteAddress: '192.0.2.1',
  })
  const [entry] = await entriesOf('bob@example.com')
  expect(entry).toMatchObject({
    accountId: account.accountId,
    actorKind: 'person',
    actorId: id,
    actorName: 'ann@example.com',
    action: 'person.invite',
    before: null,
    after: { role: 'member' },
    remoteAddress: '192.0.2.1',
  })
  // The database dates the entry, a busy machine seconds after the clock.
  expect(Math.abs(timeOfId(entry!.id) - account.clock.now())).toBeLessThan(5_000)
})

test('an entry of an API key has the name of the key', async () => {
  const { db, clock, accountId } = account
  const newKey = { accountId, name: 'shop', kind: 'live', scopes: ['emails.send'] } as const
  const { apiKey } = await createKey(db, clock, newKey)
  await record(db, { accountId, actor: { kind: 'api_key', id: apiKey.id }, action: 'domain.create', target: 'a.test' })
  const [entry] = await entriesOf('a.test')
  expect(entry).toMatchObject({ actorKind: 'api_key', actorId: apiKey.id, actorName: 'shop', remoteAddress: null })
})

test('only the fields that differ are stored, and a change without any has no entry', async () => {
  const before = { role: 'reader', email: 'bob@example.com', confirmed: null }
  await record(account.db, {
    ...author,
    action: 'person.role',
    target: 'bob',
    before,
    after: { ...before, role: 'owner' },
  })
  await record(account.db, { ...author, action: 'person.role', target: 'bob', before, after: { ...before } })
  expect(await entriesOf('bob')).toMatchObject([{ before: { role: 'reader' }, after: { role: 'owner' } }])
})

test('the entry is rolled back with its change', async () => {
  const fault = new Error('the change failed')
  const change = account.db.transaction(async (tx) => {
    await record(tx, { ...author, action: 'account.tier', target: 'rolled back' })
    throw fault
  })
  await expect(change).rejects.toBe(fault)
  expect(await entriesOf('rolled back')).toEqual([])
})

test.each([
  ['changed', `update audit_entries set actor_name = 'bob'`],
  ['deleted', 'delete from audit_entries'],
  ['emptied', 'truncate audit_entries'],
])('an entry is never %s, not even by the owner of the database', async (_, statement) => {
  await record(account.db, { ...author, action: 'account.tier', target: 'kept' })
  await expect(run(account.db, statement)).rejects.toThrow(/history never changes: audit_entries/)
  expect((await entriesOf('kept')).length).toBeGreaterThan(0)
})

test('the log knows the actions that the server writes, and no others', () => {
  const sources = globSync('{server,cli}/**/*.ts').map((file) => readFileSync(file, 'utf8'))
  const written = sources.flatMap((source) =>
    [...source.matchAll(/action: '(\w+\.\w+)'/g)].map(([, action]) => action!),
  )
  expect([...new Set(written)].sort()).toEqual([...ACTIONS].sort())
})
