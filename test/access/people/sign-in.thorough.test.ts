import { randomBytes } from 'node:crypto'
import { Code, type ConnectError, type ServiceImplSpec } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import { PersonService } from '../../../gen/verdict/admin/v1/person_pb.ts'
import {
  countSecondFactors,
  peopleWithLostFactors,
  reencryptSecondFactors,
} from '../../../server/access/people/second-factors.ts'
import { eq } from '../../../server/db/drizzle.ts'
import { createSealer, type EncryptionKey } from '../../../server/db/encryption.ts'
import { auditEntries, people, sessions } from '../../../server/db/people-schema.ts'
import { run } from '../../../server/db/statement.ts'
import { reasonOf } from '../../../server/errors.ts'
import { testAccount } from '../../harness/account.ts'
import { callsWith, personService, startDashboard } from '../../harness/person.ts'
import { callSignIn, type PageCall, totp } from '../../harness/sign-in.ts'

const PASSWORD = 'correct horse battery'

const account = await testAccount()
const { db, clock } = account
const services: ServiceImplSpec[] = [personService(account)]
const dashboard = await startDashboard({ db, clock, services, trustProxy: ['127.0.0.0/8'] })

const auth = (path: string, body: object, options: Partial<PageCall> = {}) =>
  callSignIn(path, body, { url: dashboard.url, ...options })
const signIn = (email: string, password = PASSWORD, more = {}) => auth('/sign-in/email', { email, password }, more)

const keyOf = (id: string): EncryptionKey => ({ id, key: randomBytes(32) })

/** Starts a dashboard whose first key encrypts. */
const startWith = (...keys: EncryptionKey[]) => {
  const { db, clock } = account
  return startDashboard({ db, clock, services, sealer: createSealer(keys) })
}

/** Creates a person with a second factor, who is signed in with the cookie. `code` is what the app shows. */
async function personWithSecondFactor({ url, person }: Awaited<ReturnType<typeof startWith>>) {
  const { email } = await person({ password: PASSWORD })
  const { cookie } = await signIn(email, PASSWORD, { url })
  const { json } = await auth('/two-factor/enable', { password: PASSWORD }, { cookie, url })
  const code = (stepsLater = 0) => totp(json.totpURI, stepsLater)
  const verified = await auth('/two-factor/verify-totp', { code: code() }, { cookie, url })
  return { email, code, backupCodes: json.backupCodes as string[], cookie: verified.cookie || cookie }
}

/** The sessions that a person has. */
const sessionsOf = (personId: string) => account.db.$count(sessions, eq(sessions.userId, personId))

async function personBehind(cookie: string) {
  const { client } = callsWith(cookie)
  return client(PersonService, dashboard.url).getPerson({})
}

test('a person signs in with address and password, in any case, and gets a cookie that scripts cannot read', async () => {
  const { email } = await dashboard.person({ password: PASSWORD })
  const { status, cookie, setCookies, headers } = await signIn(email.toUpperCase())
  expect(status).toBe(200)
  expect(setCookies).toEqual([
    expect.stringMatching(/^verdict\.session_token=[^;]+; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax$/),
  ])
  expect(headers.get('cache-control')).toBe('no-store')
  const person = await personBehind(cookie)
  expect(person).toMatchObject({ email })
  expect(person.confirmedUntil).toBeDefined()
  const { sessions } = await callsWith(cookie).client(PersonService, dashboard.url).listSessions({})
  expect(sessions[0]).toMatchObject({ current: true, remoteAddress: '192.0.2.1', userAgent: 'node' })
})

test('a wrong password and an address without a person get the same response', async () => {
  const { email } = await dashboard.person({ password: PASSWORD })
  const [wrong, unknown] = [await signIn(email, 'incorrect horse'), await signIn('nobody@people.test')]
  expect(wrong.status).toBe(401)
  expect(unknown.status).toBe(401)
  const refusal = { error: 'wrong_credentials', message: expect.any(String) }
  expect(wrong.json).toMatchObject(refusal)
  expect({ ...unknown.json, request_id: '' }).toEqual({ ...wrong.json, request_id: '' })
  expect([...wrong.setCookies, ...unknown.setCookies]).toEqual([])
})

test('a wrong password and an address without a person take as many queries', async () => {
  let queries = 0
  const counting = new Proxy(account.db, {
    get(target, name) {
      if (name === 'select') queries++
      const value = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const counted = await startDashboard({ db: counting, clock: account.clock, services })
  const { email } = await counted.person({ password: PASSWORD })
  const queriesOf = async (of: string) => {
    queries = 0
    expect((await signIn(of, 'incorrect horse', { url: counted.url })).status).toBe(401)
    return queries
  }
  const known = await queriesOf(email)
  expect(known).toBeGreaterThan(1)
  expect(await queriesOf('nobody@people.test')).toBe(known)
})

test('after ten wrong passwords from one address, another address still signs in as that person', async () => {
  const { email } = await dashboard.person({ password: PASSWORD })
  for (let i = 0; i < 10; i++) expect((await signIn(email, `wrong ${i}`, { from: '198.51.100.7' })).status).toBe(401)
  const refused = await signIn(email, PASSWORD, { from: '198.51.100.7' })
  expect(refused).toMatchObject({ status: 429, json: { error: 'rate_limit_exceeded' } })
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(800)
  expect((await signIn(email, PASSWORD, { from: '198.51.100.8' })).status).toBe(200)
})

test('signing in does not use up the attempts', async () => {
  const { email } = await dashboard.person({ password: PASSWORD })
  for (let i = 0; i < 12; i++) expect((await signIn(email, PASSWORD, { from: '198.51.100.9' })).status).toBe(200)
})

test('a stranger cannot sign up', async () => {
  const body = { email: 'eve@people.test', password: PASSWORD, name: 'Eve' }
  expect((await auth('/sign-up/email', body)).status).toBe(404)
  expect(await account.db.$count(people, eq(people.email, body.email))).toBe(0)
})

test('signing out ends the session', async () => {
  const { email, personId } = await dashboard.person({ password: PASSWORD })
  const { cookie } = await signIn(email)
  expect(await sessionsOf(personId)).toBe(2)
  const out = await auth('/sign-out', {}, { cookie })
  expect(out.status).toBe(200)
  expect(out.setCookies.join()).toMatch(/verdict\.session_token=; Max-Age=0/)
  expect(await sessionsOf(personId)).toBe(1)
  await expect(personBehind(cookie)).rejects.toMatchObject({
    code: Code.Unauthenticated,
  } satisfies Partial<ConnectError>)
})

test('a page of another site cannot sign a person out, and no form can sign one in', async () => {
  const { email } = await dashboard.person({ password: PASSWORD })
  const { cookie } = await signIn(email)
  expect((await auth('/sign-out', {}, { cookie, headers: { origin: 'https://evil.test' } })).status).toBe(403)
  await personBehind(cookie)
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  expect((await signIn(email, PASSWORD, { headers: form })).status).toBe(415)
  expect((await signIn(email, PASSWORD, { headers: { 'content-type': 'text/plain' } })).status).toBe(415)
})

test('the page may be opened by the name localhost', async () => {
  const { email } = await dashboard.person({ password: PASSWORD })
  const { cookie } = await signIn(email)
  const url = dashboard.url.replace('127.0.0.1', 'localhost')
  expect((await auth('/sign-out', {}, { cookie, url })).status).toBe(200)
})

test('a new password has 12 to 128 characters, and changing it ends the other sessions', async () => {
  const { email, personId } = await dashboard.person({ password: PASSWORD })
  const { cookie } = await signIn(email)
  const change = (newPassword: string, currentPassword = PASSWORD) =>
    auth('/change-password', { newPassword, currentPassword, revokeOtherSessions: true }, { cookie })
  for (const unfit of ['eleven char', 'x'.repeat(129)]) expect((await change(unfit)).status).toBe(400)
  expect((await change('a new password', 'wrong')).status).toBe(403)
  const { status, cookie: changed } = await change('a new password')
  expect(status).toBe(200)
  expect(await sessionsOf(personId)).toBe(1)
  await personBehind(changed)
  expect((await signIn(email)).status).toBe(401)
  expect((await signIn(email, 'a new password')).status).toBe(200)
})

test('with a second factor a person signs in with a code of the app, or once with a backup code', async () => {
  const { email } = await dashboard.person({ password: PASSWORD, accountId: account.accountId })
  const { cookie } = await signIn(email)
  expect((await auth('/two-factor/enable', { password: 'wrong' }, { cookie })).status).toBe(403)
  const { json } = await auth('/two-factor/enable', { password: PASSWORD }, { cookie })
  const uri = new URL(json.totpURI)
  expect([uri.protocol, uri.searchParams.get('issuer')]).toEqual(['otpauth:', 'Verdict'])
  const code = (stepsLater = 0) => totp(json.totpURI, stepsLater)
  expect((await personBehind(cookie)).secondFactor).toBe(false)
  const verified = await auth('/two-factor/verify-totp', { code: code() }, { cookie })
  expect(verified.status).toBe(200)
  expect((await personBehind(verified.cookie || cookie)).secondFactor).toBe(true)

  const halfway = await signIn(email)
  expect(halfway.json).toMatchObject({ twoFactorRedirect: true })
  await expect(personBehind(halfway.cookie)).rejects.toMatchObject({ code: Code.Unauthenticated })
  const wrong = await auth('/two-factor/verify-totp', { code: '000000' }, { cookie: halfway.cookie })
  expect(wrong.status).toBe(401)
  const whole = await auth('/two-factor/verify-totp', { code: code(1) }, { cookie: halfway.cookie })
  expect(await personBehind(whole.cookie)).toMatchObject({ email, secondFactor: true })

  const [backup] = json.backupCodes
  const byBackup = await auth(
    '/two-factor/verify-backup-code',
    { code: backup },
    { cookie: (await signIn(email)).cookie },
  )
  await personBehind(byBackup.cookie)
  const again = await auth('/two-factor/verify-backup-code', { code: backup }, { cookie: (await signIn(email)).cookie })
  expect(again.status).toBe(401)

  expect((await auth('/two-factor/disable', { password: PASSWORD }, { cookie: whole.cookie })).status).toBe(200)
  const entries = await account.db.select().from(auditEntries).where(eq(auditEntries.actorName, email))
  const entry = { action: 'person.second_factor', target: email, remoteAddress: '192.0.2.1' }
  expect(entries.filter(({ action }) => action === entry.action)).toMatchObject([
    { ...entry, before: { on: false }, after: { on: true } },
    { ...entry, before: { on: true }, after: { on: false } },
  ])
})

test('a session is limited to ten wrong passwords', async () => {
  const { client } = await dashboard.person({ password: PASSWORD })
  const person = client(PersonService)
  for (let i = 0; i < 10; i++) {
    expect(await reasonOf(await person.confirmPassword({ password: `wrong ${i}` }).catch((e) => e))).toBe(
      'wrong_password',
    )
  }
  const right = await person.confirmPassword({ password: PASSWORD }).catch((error) => error)
  expect(reasonOf(right)).toBe('rate_limit_exceeded')
})

test('after a new encryption key, the sessions and second factors of the older one still work', async () => {
  const [older, newer] = [keyOf('older'), keyOf('newer')]
  const before = await startWith(older)
  const { email, code, cookie: kept } = await personWithSecondFactor(before)

  const after = await startWith(newer, older)
  const { url } = after
  expect(await callsWith(kept).client(PersonService, url).getPerson({})).toMatchObject({ email, secondFactor: true })
  const halfway = await signIn(email, PASSWORD, { url })
  const whole = await auth('/two-factor/verify-totp', { code: code(1) }, { cookie: halfway.cookie, url })
  expect(await callsWith(whole.cookie).client(PersonService, url).getPerson({})).toMatchObject({ email })
  expect((await auth('/sign-out', {}, { cookie: kept, url })).status).toBe(200)
  const gone = callsWith(kept).client(PersonService, url).getPerson({})
  await expect(gone).rejects.toMatchObject({ code: Code.Unauthenticated })
})

test('secrets rotate encrypts second factors with the new key: then they work without the older one', async () => {
  const { db } = account
  await run(db, 'delete from second_factors')
  const [older, newer] = [keyOf('older'), keyOf('newer')]
  const before = await startWith(older)
  const { email, code, backupCodes } = await personWithSecondFactor(before)

  expect(await peopleWithLostFactors(db, createSealer([newer]))).toEqual([email])
  expect(await reencryptSecondFactors(db, createSealer([newer]))).toEqual({
    reencrypted: 0,
    faults: [
      expect.stringMatching(/^second_factors of .* is encrypted with a key that ENCRYPTION_KEYS does not name$/),
    ],
  })
  const both = createSealer([newer, older])
  expect(await countSecondFactors(db, both)).toEqual({ total: 1, older: 1 })
  expect(await reencryptSecondFactors(db, both)).toEqual({ reencrypted: 1, faults: [] })
  expect(await countSecondFactors(db, both)).toEqual({ total: 1, older: 0 })
  expect(await peopleWithLostFactors(db, createSealer([newer]))).toEqual([])

  const after = await startWith(newer)
  const { url } = after
  const byCode = await signIn(email, PASSWORD, { url })
  const whole = await auth('/two-factor/verify-totp', { code: code(1) }, { cookie: byCode.cookie, url })
  expect(await callsWith(whole.cookie).client(PersonService, url).getPerson({})).toMatchObject({ email })
  const byBackup = await signIn(email, PASSWORD, { url })
  const body = { code: backupCodes[0] }
  expect((await auth('/two-factor/verify-backup-code', body, { cookie: byBackup.cookie, url })).status).toBe(200)
})

test('behind https, browsers send the cookie over https only', async () => {
  const { db, clock } = account
  const publicUrl = 'https://verdict.test'
  const secure = await startDashboard({ db, clock, services, publicUrl })
  const { email } = await secure.person({ password: PASSWORD })
  const { setCookies, cookie } = await signIn(email, PASSWORD, { url: secure.url, headers: { origin: publicUrl } })
  expect(setCookies[0]).toMatch(/^__Secure-verdict\.session_token=.*; HttpOnly; Secure; SameSite=Lax$/)
  const { client } = callsWith(cookie)
  expect(await client(PersonService, secure.url).getPerson({})).toMatchObject({ email })
})
