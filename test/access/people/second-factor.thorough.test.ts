import { createHmac, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { PersonService } from '../../../gen/verdict/admin/v1/person_pb.ts'
import { signingKeys } from '../../../server/access/people/signing-keys.ts'
import { asc, eq } from '../../../server/db/drizzle.ts'
import { createSealer } from '../../../server/db/encryption.ts'
import { newId } from '../../../server/db/ids.ts'
import { auditEntries, sessions, verifications } from '../../../server/db/people-schema.ts'
import { run } from '../../../server/db/statement.ts'
import { testAccount } from '../../harness/account.ts'
import { eventually } from '../../harness/eventually.ts'
import { callsWith, personService, startDashboard } from '../../harness/person.ts'
import { callSignIn, totp } from '../../harness/sign-in.ts'

const PASSWORD = 'correct horse battery'
const sealer = createSealer([{ id: 'test', key: randomBytes(32) }])

const account = await testAccount()
const { db, clock } = account
const services = [personService(account)]
const start = () => startDashboard({ db, clock, services, sealer, trustProxy: ['127.0.0.0/8'] })
/** Two processes of the API. */
const dashboard = await start()
const other = await start()

const signIn = (email: string, more = {}) =>
  callSignIn('/sign-in/email', { email, password: PASSWORD }, { url: dashboard.url, ...more })

const verify = (code: string, cookie: string, { url } = dashboard) =>
  callSignIn('/two-factor/verify-totp', { code }, { url, cookie })

/** A person who is signed in, and has begun to set up a second factor. */
async function personInSetUp() {
  const { email, personId } = await dashboard.person({ password: PASSWORD, accountId: account.accountId })
  const { cookie } = await signIn(email)
  const { json } = await callSignIn('/two-factor/enable', { password: PASSWORD }, { url: dashboard.url, cookie })
  const { totpURI, backupCodes } = json as { totpURI: string; backupCodes: string[] }
  return { email, personId, cookie, backupCodes, code: (later?: number) => totp(totpURI, later) }
}

async function personWithSecondFactor() {
  const person = await personInSetUp()
  const verified = await verify(person.code(), person.cookie)
  expect(verified.status).toBe(200)
  return { ...person, cookie: verified.cookie }
}

const personBehind = (cookie: string) => callsWith(cookie).client(PersonService, dashboard.url).getPerson({})

const isSignedIn = (cookie: string) =>
  personBehind(cookie).then(
    () => true,
    () => false,
  )

/** The audit entries of a person, the oldest first. */
const entriesOf = (email: string) =>
  account.db.select().from(auditEntries).where(eq(auditEntries.target, email)).orderBy(asc(auditEntries.id))

test('a code of the app signs in once', async () => {
  const { email, code } = await personWithSecondFactor()
  const [first, second] = [await signIn(email), await signIn(email)]
  expect((await verify(code(1), first.cookie)).status).toBe(200)
  const again = await verify(code(1), second.cookie)
  expect([again.status, again.json.error]).toEqual([401, 'wrong_code'])
  expect(await isSignedIn(again.cookie)).toBe(false)
})

test('the code of the set-up does not sign in', async () => {
  const person = await personInSetUp()
  const code = person.code()
  expect((await verify(code, person.cookie)).status).toBe(200)
  const { cookie } = await signIn(person.email)
  expect((await verify(code, cookie)).status).toBe(401)
})

test('a code that is older than one that was used does not sign in', async () => {
  const { email, code } = await personWithSecondFactor()
  const [first, second] = [await signIn(email), await signIn(email)]
  expect((await verify(code(1), first.cookie)).status).toBe(200)
  expect((await verify(code(-1), second.cookie)).status).toBe(401)
  expect((await verify(code(0), second.cookie)).status).toBe(401)
})

test('of ten sign-ins with one code at the same moment, over two processes, one succeeds', async () => {
  const { email, code } = await personWithSecondFactor()
  const halfway = await Promise.all(Array.from({ length: 10 }, (_, i) => signIn(email, { from: `198.51.100.${i}` })))
  const verified = await Promise.all(halfway.map(({ cookie }, i) => verify(code(1), cookie, i % 2 ? dashboard : other)))
  expect(verified.map(({ status }) => status).toSorted()).toEqual([200, ...Array(9).fill(401)])
})

test('a code that was used counts as a wrong one: ten of them lock the second factor', async () => {
  const { email, code } = await personWithSecondFactor()
  const used = code(1)
  const verifyUsed = async () => (await verify(used, (await signIn(email)).cookie)).status
  expect(await verifyUsed()).toBe(200)
  for (let i = 0; i < 10; i++) expect(await verifyUsed()).toBe(401)
  expect(await verifyUsed()).toBe(429)
})

test('a cookie that trusts the device never skips the second factor', async () => {
  const { email, personId } = await personWithSecondFactor()
  const [key] = signingKeys(sealer)
  const trust = `trust-device-${randomBytes(24).toString('base64url')}`
  const expiresAt = new Date(account.clock.now() + 30 * 86_400_000)
  const row = { id: newId(account.clock.now()), identifier: trust, value: personId, expiresAt }
  await account.db.insert(verifications).values(row)
  // As better-auth writes it.
  const token = createHmac('sha256', key!).update(`${personId}!${trust}`).digest('base64url')
  const signed = createHmac('sha256', key!).update(`${token}!${trust}`).digest('base64')
  const cookie = `verdict.trust_device=${encodeURIComponent(`${token}!${trust}.${signed}`)}`
  const { json, cookie: set } = await signIn(email, { cookie })
  expect(json).toMatchObject({ twoFactorRedirect: true })
  expect(await isSignedIn(set)).toBe(false)
})

test.each(['/two-factor/verify-totp', '/two-factor/verify-backup-code'])(
  '%s cannot be asked to trust the device',
  async (path) => {
    const { email, code, backupCodes } = await personWithSecondFactor()
    const { cookie } = await signIn(email)
    const right = path.endsWith('totp') ? code(1) : backupCodes[0]!
    const trusted = await callSignIn(path, { code: right, trustDevice: true }, { url: dashboard.url, cookie })
    expect([trusted.status, trusted.setCookies]).toEqual([400, []])
    // The code is not used up.
    expect((await callSignIn(path, { code: right }, { url: dashboard.url, cookie })).status).toBe(200)
  },
)

test('a new password ends every other session, and each sign-in that waits for its code', async () => {
  const { email, personId, cookie, code } = await personWithSecondFactor()
  const halfway = await signIn(email)
  const elsewhere = await dashboard.person()
  await account.db.update(sessions).set({ userId: personId }).where(eq(sessions.id, elsewhere.sessionId))
  const body = { currentPassword: PASSWORD, newPassword: 'a quite new password' }
  const changed = await callSignIn('/change-password', body, { url: dashboard.url, cookie })
  expect(changed.status).toBe(200)
  expect([await isSignedIn(cookie), await isSignedIn(elsewhere.cookie)]).toEqual([true, false])
  expect((await verify(code(1), halfway.cookie)).status).toBe(401)
})

test('turning the second factor on, and off, ends every other session', async () => {
  const person = await personInSetUp()
  const before = await signIn(person.email)
  const { cookie } = await verify(person.code(), person.cookie)
  expect([await isSignedIn(cookie), await isSignedIn(before.cookie)]).toEqual([true, false])

  const halfway = await signIn(person.email)
  const { cookie: second } = await verify(person.code(1), halfway.cookie)
  const waiting = await signIn(person.email)
  const ended = await callSignIn('/two-factor/disable', { password: PASSWORD }, { url: dashboard.url, cookie: second })
  expect(ended.status).toBe(200)
  expect([await isSignedIn(ended.cookie), await isSignedIn(cookie)]).toEqual([true, false])
  expect((await verify(person.code(1), waiting.cookie)).status).toBe(401)
  expect((await signIn(person.email)).json.twoFactorRedirect).toBeUndefined()
})

test('the audit log has the set-up, the codes, the new password and the end of a second factor', async () => {
  const { email, backupCodes, cookie } = await personWithSecondFactor()
  const { url } = dashboard
  const halfway = await signIn(email)
  await callSignIn('/two-factor/verify-backup-code', { code: backupCodes[0] }, { url, cookie: halfway.cookie })
  await callSignIn('/two-factor/generate-backup-codes', { password: PASSWORD }, { url, cookie })
  const body = { currentPassword: PASSWORD, newPassword: 'a quite new password' }
  await callSignIn('/change-password', body, { url, cookie })
  await callSignIn('/two-factor/disable', { password: body.newPassword }, { url, cookie })
  const entries = await entriesOf(email)
  expect(entries.map(({ action, before, after }) => [action, before, after])).toEqual([
    ['person.make_backup_codes', null, null],
    ['person.second_factor', { on: false }, { on: true }],
    ['person.use_backup_code', null, null],
    ['person.make_backup_codes', null, null],
    ['person.change_password', null, null],
    ['person.second_factor', { on: true }, { on: false }],
  ])
  for (const { actorKind, actorName, remoteAddress } of entries)
    expect([actorKind, actorName, remoteAddress]).toEqual(['person', email, '192.0.2.1'])
  expect(JSON.stringify(entries)).not.toContain(backupCodes[0])
})

test('what was refused has no entry and ends nothing', async () => {
  const { email, cookie, code } = await personWithSecondFactor()
  const { url } = dashboard
  const elsewhere = await signIn(email)
  const wrong = { currentPassword: 'not the password', newPassword: 'a quite new password' }
  expect((await callSignIn('/change-password', wrong, { url, cookie })).json.error).toBe('wrong_password')
  const end = await callSignIn('/two-factor/disable', { password: 'wrong' }, { url, cookie })
  expect(end.json.error).toBe('wrong_password')
  expect((await verify(code(1), elsewhere.cookie)).status).toBe(200)
  expect((await entriesOf(email)).map(({ action }) => action)).toEqual([
    'person.make_backup_codes',
    'person.second_factor',
  ])
})

/** The audit entries of failed sign-ins, once there are some. */
const failuresOf = (email: string) =>
  eventually(async () => {
    const entries = (await entriesOf(email)).filter(({ action }) => action === 'person.fail_sign_in')
    expect(entries).not.toEqual([])
    return entries
  })

test('ten failed sign-ins as a person, wherever they come from, are one entry of a stranger', async () => {
  const { email } = await dashboard.person({ password: PASSWORD, accountId: account.accountId })
  const fail = (i: number) =>
    callSignIn(
      '/sign-in/email',
      { email: email.toUpperCase(), password: 'wrong' },
      { url: dashboard.url, from: `203.0.113.${i}` },
    )
  for (let i = 1; i <= 12; i++) expect((await fail(i)).status).toBe(401)
  const entries = await failuresOf(email)
  expect(entries).toMatchObject([
    { actorKind: 'stranger', actorId: null, actorName: '', target: email, after: { failures: 10 } },
  ])
  expect(entries[0]!.remoteAddress).toMatch(/^203\.0\.113\./)
})

test('wrong codes after the right password are failed sign-ins, too', async () => {
  const { email } = await personWithSecondFactor()
  for (let i = 1; i <= 5; i++) {
    const { cookie } = await signIn(email)
    await callSignIn('/two-factor/verify-totp', { code: '000000' }, { url: dashboard.url, cookie })
    await callSignIn('/two-factor/verify-backup-code', { code: 'aaaaa-bbbbb' }, { url: dashboard.url, cookie })
  }
  expect(await failuresOf(email)).toHaveLength(1)
})

test('no entry names an account that the person does not belong to', async () => {
  const { email } = await personWithSecondFactor()
  expect(new Set((await entriesOf(email)).map(({ accountId }) => accountId))).toEqual(new Set([account.accountId]))
  expect(
    await run(account.db, 'select 1 from audit_entries where target = $1 and actor_name <> $1', [email]),
  ).toHaveLength(0)
})
