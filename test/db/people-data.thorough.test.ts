import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createKey } from '../../server/access/api-keys.ts'
import { asc } from '../../server/db/drizzle.ts'
import { newId } from '../../server/db/ids.ts'
import { people, verifications } from '../../server/db/people-schema.ts'
import { apiKeys } from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { createAccount } from '../../server/directory/accounts.ts'
import { testAccount } from '../harness/account.ts'

// What the upgrade changes in rows of 0.1.

const MIGRATION = readFileSync(new URL('../../server/db/migrations/0011_people_data.sql', import.meta.url), 'utf8')

const account = await testAccount()

const migrate = async () => {
  for (const statement of MIGRATION.split('--> statement-breakpoint')) await run(account.db, statement)
}

test('the upgrade finds in the audit log which person created a key', async () => {
  const { db, clock, accountId } = account
  const personId = newId(clock.now())
  const { id: other } = await createAccount(db, clock, 'Other')
  const key = { name: 'shop', kind: 'live', scopes: ['emails.send'] } as const
  const person = { kind: 'person', id: personId, email: 'ann@people.test' } as const
  const operator = { kind: 'operator', name: 'root' } as const
  for (let i = 0; i < 20; i++)
    await createKey(db, clock, { ...key, accountId, requester: { accountId, actor: person } })
  await createKey(db, clock, { ...key, accountId, requester: { accountId, actor: operator } })
  await createKey(db, clock, { ...key, accountId: other })
  await db.update(apiKeys).set({ createdBy: null })
  await migrate()
  const keys = await db.select().from(apiKeys).orderBy(asc(apiKeys.id))
  expect(keys.map(({ createdBy }) => createdBy)).toEqual([...Array(20).fill(personId), null, null])
})

test('the upgrade ends what browsers remembered, and takes no address as proven', async () => {
  const { db, clock } = account
  const id = newId(clock.now())
  await db.insert(people).values({ id, name: 'Ann', email: 'ann@people.test', emailVerified: true })
  const expiresAt = new Date(clock.now() + 60_000)
  for (const identifier of ['trust-device-AbC', '2fa-AbC'])
    await db.insert(verifications).values({ id: newId(clock.now()), identifier, value: id, expiresAt })
  await migrate()
  expect(await db.select({ is: people.emailVerified }).from(people)).toEqual([{ is: false }])
  expect((await db.select().from(verifications)).map(({ identifier }) => identifier)).toEqual(['2fa-AbC'])
})
