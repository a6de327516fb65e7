import { expect, test } from 'vitest'
import { isPasswordOf } from '../../../server/access/people/credentials.ts'
import { prepareFirstPerson } from '../../../server/access/people/first-person.ts'
import { findPerson } from '../../../server/access/people/join.ts'
import { createDatabaseClock } from '../../../server/db/clock.ts'
import { members, people } from '../../../server/db/people-schema.ts'
import { createAccount } from '../../../server/directory/accounts.ts'
import { createLogger } from '../../../server/process/log.ts'
import { testDatabase } from '../../harness/postgres.ts'
import { untilEnd } from '../../harness/until-end.ts'

const ADMIN = { email: 'Ann@people.test', password: 'correct horse battery' }

const database = await testDatabase()
const clock = untilEnd(await createDatabaseClock(database.db))

/** Starts as the API does. Returns what it logs. */
async function start(admin?: typeof ADMIN): Promise<string> {
  let text = ''
  const log = createLogger('info', { write: (line) => (text += line) })
  await prepareFirstPerson({ db: database.db, clock, log }, admin)
  return text
}

test('while no person can sign in, the API names the command that creates a link', async () => {
  expect(await start()).toContain('npx verdict people set-up')
})

test('ADMIN_EMAIL becomes an owner of every account, once there is one', async () => {
  const { db } = database
  expect(await start(ADMIN)).toContain('npx verdict accounts create')
  expect(await db.$count(people)).toBe(0)
  for (const name of ['One', 'Two']) await createAccount(db, clock, name)
  const logs = await Promise.all([start(ADMIN), start(ADMIN)])
  expect(logs.join('')).not.toMatch(/correct horse|ann@/i)
  expect(await db.select({ role: members.role }).from(members)).toEqual([{ role: 'owner' }, { role: 'owner' }])
  expect(await isPasswordOf(db, await findPerson(db, 'ann@people.test'), ADMIN.password)).toBe(true)
})

test('with a person the variables change nothing, and nothing is logged', async () => {
  expect(await start({ email: 'eve@people.test', password: 'another password' })).toBe('')
  expect(await start()).toBe('')
  expect(await database.db.$count(people)).toBe(1)
})
