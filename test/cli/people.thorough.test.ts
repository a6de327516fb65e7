import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { runCli } from '../../cli/run.ts'
import { createKey } from '../../server/access/api-keys.ts'
import { acceptInvitation } from '../../server/access/people/accept.ts'
import { createCredentialAttempts } from '../../server/access/people/credential-attempts.ts'
import { createDatabaseClock } from '../../server/db/clock.ts'
import { eq } from '../../server/db/drizzle.ts'
import { publicId } from '../../server/db/ids.ts'
import { auditEntries, people } from '../../server/db/people-schema.ts'
import { accounts } from '../../server/db/schema.ts'
import { testDatabase } from '../harness/postgres.ts'
import { temporaryFolder, untilEnd } from '../harness/until-end.ts'

const PASSWORD = 'correct horse battery'

const database = await testDatabase()
const clock = untilEnd(await createDatabaseClock(database.db))
const folder = temporaryFolder()
beforeEach(() => {
  const env = { DATABASE_URL: database.url, DATA_DIR: folder, PUBLIC_URL: 'https://verdict.test', NODE_ENV: '' }
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
})
afterEach(() => void vi.unstubAllEnvs())

async function json(...args: string[]) {
  return JSON.parse(JSON.stringify((await runCli(args)).json))
}

const NO_LINKS = { tokenOf: () => '', read: () => undefined }

/** Does with a link what its holder does. */
const accept = (url: string, more: { email?: string; name?: string } = {}) =>
  acceptInvitation(
    {
      db: database.db,
      clock,
      attempts: createCredentialAttempts(),
      noteFailedSignIn: () => {},
      invitationLinks: NO_LINKS,
    },
    { token: url.split('/').at(-1)!, name: 'Ann', password: PASSWORD, remoteAddress: '192.0.2.1', ...more },
  )

test('the operator sets up the first person, invites others, lists and removes them', async () => {
  await json('accounts', 'create', 'Web shop')
  const { text } = await runCli(['people', 'set-up'])
  expect(text).toMatch(
    /^No person can sign in yet\. Open this link .*\n\n {2}https:\/\/verdict\.test\/dashboard\/\S+\n$/s,
  )
  const { url, email } = await json('people', 'set-up')
  expect(email).toBeNull()
  await expect(accept(/https:\S+/.exec(text)![0], { email: 'ann@people.test' })).rejects.toThrow('does not work')
  await accept(url, { email: 'ann@people.test' })
  const invited = await json('people', 'invite', 'Bob@people.test', '--role', 'reader')
  expect(invited).toMatchObject({ email: 'bob@people.test', role: 'reader' })
  await accept(invited.url, { name: 'Bob' })
  const { people: all } = await json('people', 'list')
  expect(all).toMatchObject([
    { name: 'Ann', email: 'ann@people.test', role: 'owner', second_factor: false },
    { name: 'Bob', email: 'bob@people.test', role: 'reader' },
  ])
  expect((await runCli(['people', 'list'])).text).toContain('ann@people.test  owner')
  expect((await runCli(['people', 'remove', 'bob@people.test'])).text).toBe('Removed bob@people.test.')
  const entries = await database.db.select().from(auditEntries)
  expect(entries.map(({ action, actorKind }) => `${actorKind} ${action}`)).toEqual(
    expect.arrayContaining(['operator person.invite', 'person person.join', 'operator person.remove']),
  )
})

test('removing a person lists the keys that they created, and revokes them if asked', async () => {
  const { db } = database
  const { id: accountId } = (await db.select().from(accounts))[0]!
  for (const flags of [[], ['--revoke-keys']]) {
    const { url } = await json('people', 'invite', 'eve@people.test')
    await accept(url, { name: 'Eve' })
    const [eve] = await db.select().from(people).where(eq(people.email, 'eve@people.test'))
    const actor = { kind: 'person', id: eve!.id, email: eve!.email } as const
    const newKey = { accountId, name: 'shop', kind: 'live', scopes: ['emails.send'] } as const
    const { apiKey } = await createKey(db, clock, { ...newKey, requester: { accountId, actor } })
    const keyId = publicId('key', apiKey.id)
    const { text, json: printed } = await runCli(['people', 'remove', 'eve@people.test', ...flags])
    const isRevoked = flags.length > 0
    expect(text).toMatch(isRevoked ? /Revoked the keys that they created:/ : /created still work\. Revoke them with/)
    expect(text).toContain(`  ${keyId}  ${apiKey.hint}...  shop\n`)
    const keys = [{ key_id: keyId, revoked_at: isRevoked ? expect.any(Date) : null }]
    expect(printed).toMatchObject({ email: 'eve@people.test', keys })
    const listed = (await json('keys', 'list')).keys.find((key: { key_id: string }) => key.key_id === keyId)
    expect(listed).toMatchObject({
      created_by: publicId('per', eve!.id),
      revoked_at: isRevoked ? expect.any(String) : null,
    })
  }
})

test('the operator can remove the last owner, whose next link sets a new password', async () => {
  await json('people', 'remove', 'ann@people.test')
  expect(await database.db.$count(people)).toBe(0)
  const { url } = await json('people', 'set-up')
  await accept(url, { email: 'ann@people.test', name: 'Ann again' })
  expect((await json('people', 'list')).people).toMatchObject([{ name: 'Ann again', role: 'owner' }])
})

test('a person who belongs to the account, one who does not, and a faulty address are refused', async () => {
  await expect(runCli(['people', 'invite', 'ann@people.test'])).rejects.toMatchObject({ exit: 'usage' })
  await expect(runCli(['people', 'invite', 'ann'])).rejects.toMatchObject({ exit: 'usage' })
  await expect(runCli(['people', 'invite', 'x@people.test', '--role', 'king'])).rejects.toMatchObject({ exit: 'usage' })
  await expect(runCli(['people', 'remove', 'x@people.test'])).rejects.toMatchObject({ exit: 'not_found' })
})
