import { createServiceImplSpec } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import { ActorKind, AuditService } from '../../gen/verdict/admin/v1/audit_pb.ts'
import { createKey } from '../../server/access/api-keys.ts'
import { ACTIONS } from '../../server/access/audit/actions.ts'
import { record } from '../../server/access/audit/record-change.ts'
import { createAuditService } from '../../server/admin/audit.ts'
import { publicId } from '../../server/db/ids.ts'
import { createAccount } from '../../server/directory/accounts.ts'
import { testAccount } from '../harness/account.ts'
import { faultsOf, startDashboard } from '../harness/person.ts'

const ENTRIES = 25

const account = await testAccount()
const service = createServiceImplSpec<typeof AuditService>(AuditService, createAuditService(account))
const dashboard = await startDashboard({ ...account, services: [service] })
const logOf = async (accountId: string) => (await dashboard.person({ accountId })).client(AuditService)
const log = await logOf(account.accountId)
const operator = { accountId: account.accountId, actor: { kind: 'operator', name: 'root' } } as const
for (let i = 0; i < ENTRIES; i++) {
  const action = i % 5 === 0 ? 'domain.delete' : 'domain.create'
  await record(account.db, { ...operator, action, target: `${i}.test` })
}

/** The targets of all pages, and the size of each page. */
async function pages(request: { action?: string; limit?: number }) {
  const targets: string[] = []
  const sizes: number[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await log.listAuditEntries({ ...request, cursor })
    targets.push(...page.entries.map(({ target }) => target))
    sizes.push(page.entries.length)
    cursor = page.nextCursor
    if (cursor === undefined) return { targets, sizes }
  }
}

const newestFirst = Array.from({ length: ENTRIES }, (_, i) => ENTRIES - 1 - i)

test('entries are listed newest first, by pages that leave none out', async () => {
  const { targets, sizes } = await pages({ limit: 10 })
  expect(sizes).toEqual([10, 10, 5])
  expect(targets).toEqual(newestFirst.map((i) => `${i}.test`))
  expect((await pages({})).sizes).toEqual([ENTRIES])
})

test('entries are filtered by their action, and the filter knows every action', async () => {
  const { targets } = await pages({ action: 'domain.delete', limit: 2 })
  expect(targets).toEqual(newestFirst.filter((i) => i % 5 === 0).map((i) => `${i}.test`))
  const { actions } = await log.listAuditEntries({ limit: 1 })
  expect(actions).toEqual([...ACTIONS])
})

test('an entry names its author, what was changed, and the fields before and after as JSON', async () => {
  const { db, clock } = account
  const { id: accountId } = await createAccount(db, clock, 'Authors')
  const personId = '01a1fdad-841e-72ac-928b-11eba8284d67'
  const newKey = { accountId, name: 'shop', kind: 'live', scopes: ['emails.send'] } as const
  const { apiKey } = await createKey(db, clock, newKey)
  const person = { kind: 'person', id: personId, email: 'ann@example.com' } as const
  const role = { action: 'person.role', target: 'bob@example.com', before: { role: 'reader' } } as const
  await record(db, { accountId, actor: person, remoteAddress: '192.0.2.1', ...role, after: { role: 'owner' } })
  await record(db, { accountId, actor: { kind: 'api_key', id: apiKey.id }, action: 'domain.delete', target: 'a.test' })
  await record(db, {
    ...operator,
    accountId,
    action: 'account.create',
    target: 'Authors',
    after: { name: '<b>\u202e' },
  })
  const { entries } = await (await logOf(accountId)).listAuditEntries({})
  expect(entries).toMatchObject([
    { actorKind: ActorKind.OPERATOR, actorName: 'root', after: '{"name":"<b>\u202e"}' },
    {
      actorKind: ActorKind.API_KEY,
      actorId: publicId('key', apiKey.id),
      actorName: 'shop',
    },
    {
      entryId: expect.stringMatching(/^aud_[0-9a-z]{26}$/),
      actorKind: ActorKind.PERSON,
      actorId: publicId('per', personId),
      actorName: 'ann@example.com',
      action: 'person.role',
      target: 'bob@example.com',
      before: '{"role":"reader"}',
      after: '{"role":"owner"}',
      remoteAddress: '192.0.2.1',
    },
  ])
  const [ofOperator, ofKey] = entries
  expect(ofOperator!.actorId).toBeUndefined()
  expect(ofKey!.before ?? ofKey!.after ?? ofKey!.remoteAddress).toBeUndefined()
})

test('an account sees its own entries only', async () => {
  const { id } = await createAccount(account.db, account.clock, 'Other')
  expect((await (await logOf(id)).listAuditEntries({})).entries).toEqual([])
})

test.each([
  ['an unknown action', { action: 'key.steal' }, 'action'],
  ['a limit of 0', { limit: 0 }, 'limit'],
  ['a limit of 101', { limit: 101 }, 'limit'],
  ['a cursor that is none', { cursor: 'x' }, 'cursor'],
])('refused: %s', async (_, request, field) => {
  expect(await faultsOf(log.listAuditEntries(request))).toMatchObject({
    reason: 'invalid_payload',
    fields: [{ field }],
  })
})

test('a cursor of another filter is refused', async () => {
  const { nextCursor } = await log.listAuditEntries({ limit: 1 })
  const { fields } = await faultsOf(log.listAuditEntries({ cursor: nextCursor, action: 'domain.create' }))
  expect(fields).toMatchObject([{ field: 'cursor' }])
})
