import { createServiceImplSpec } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import { Role } from '../../../gen/verdict/admin/v1/options_pb.ts'
import { PeopleService } from '../../../gen/verdict/admin/v1/people_pb.ts'
import { PersonService } from '../../../gen/verdict/admin/v1/person_pb.ts'
import { createKey, revokeKey } from '../../../server/access/api-keys.ts'
import { changeAs } from '../../../server/access/audit/change-as.ts'
import { createKeyRight } from '../../../server/access/right-of-key.ts'
import { createPeopleService } from '../../../server/admin/people.ts'
import { createPersonService } from '../../../server/admin/person.ts'
import { eq } from '../../../server/db/drizzle.ts'
import { publicId } from '../../../server/db/ids.ts'
import { sessions } from '../../../server/db/people-schema.ts'
import { createAccount } from '../../../server/directory/accounts.ts'
import { reasonOf } from '../../../server/errors.ts'
import { testAccount } from '../../harness/account.ts'
import { countWaiting } from '../../harness/lock-queue.ts'
import { startDashboard } from '../../harness/person.ts'

const account = await testAccount()
const { db, clock } = account
const parts = { db, clock, about: { version: 'test', region: 'eu' }, publicUrl: () => 'http://verdict.test' }
const dashboard = await startDashboard({
  db,
  clock,
  services: [
    createServiceImplSpec<typeof PeopleService>(PeopleService, createPeopleService(parts)),
    createServiceImplSpec<typeof PersonService>(PersonService, createPersonService(parts)),
  ],
})

test('a right is taken away after the change that it permits, not during it', async () => {
  const { db, clock, accountId } = account
  const { apiKey } = await createKey(db, clock, { accountId, name: 'k', kind: 'live', scopes: ['domains.write'] })
  const actor = { kind: 'api_key', id: apiKey.id } as const
  const requester = { accountId, actor, right: createKeyRight(db, clock, apiKey.id) }
  const order: string[] = []
  let revoked: Promise<unknown> | undefined
  await changeAs(db, requester, async () => {
    revoked = revokeKey(db, accountId, apiKey.id).then(() => order.push('revoked'))
    expect(await countWaiting(db.$client, '%api_keys%')).toBe(1)
    order.push('changed')
  })
  await revoked
  expect(order).toEqual(['changed', 'revoked'])
  await expect(changeAs(db, requester, async () => order.push('again'))).rejects.toThrow('was revoked')
  expect(order).toHaveLength(2)
})

const outcomeOf = (call: Promise<unknown>) =>
  call.then(
    () => 'ok',
    (error) => reasonOf(error) ?? String(error),
  )

test('two owners who change each other at once do not wait for each other: one is refused', async () => {
  const { id: accountId } = await createAccount(account.db, account.clock, 'Pairs')
  for (let i = 0; i < 10; i++) {
    const pair = await Promise.all([dashboard.person({ accountId }), dashboard.person({ accountId })])
    const demote = ([from, to]: typeof pair) =>
      from.client(PeopleService).changeRole({ personId: publicId('per', to.personId), role: Role.READER })
    const outcomes = await Promise.all([outcomeOf(demote(pair)), outcomeOf(demote([pair[1], pair[0]]))])
    expect(outcomes.sort()).toEqual(['insufficient_role', 'ok'])
  }
})

test('two sessions of a person that end each other at once do not wait for each other: one is refused', async () => {
  const { db, accountId } = account
  for (let i = 0; i < 10; i++) {
    const first = await dashboard.person({ accountId })
    const second = await dashboard.person({ accountId })
    await db.update(sessions).set({ userId: first.personId }).where(eq(sessions.id, second.sessionId))
    const end = (from: typeof first, to: typeof first) =>
      outcomeOf(from.client(PersonService).endSession({ sessionId: publicId('ses', to.sessionId) }))
    const outcomes = await Promise.all([end(first, second), end(second, first)])
    expect(outcomes.sort()).toEqual(['invalid_session', 'ok'])
  }
})
