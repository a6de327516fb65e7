import { randomBytes } from 'node:crypto'
import { createServiceImplSpec } from '@connectrpc/connect'
import { beforeEach, expect, test } from 'vitest'
import { InvitationService, PeopleService } from '../../../gen/verdict/admin/v1/people_pb.ts'
import { PersonService, SignInService } from '../../../gen/verdict/admin/v1/person_pb.ts'
import type { Role } from '../../../server/access/people/access.ts'
import { invite } from '../../../server/access/people/invitations.ts'
import { peopleWithoutSignIn } from '../../../server/access/people/oidc/identities.ts'
import { createInvitationService } from '../../../server/admin/invitations.ts'
import { createPeopleService } from '../../../server/admin/people.ts'
import { createPersonService } from '../../../server/admin/person.ts'
import { createSignInService } from '../../../server/admin/sign-in.ts'
import { and, eq, inArray } from '../../../server/db/drizzle.ts'
import { createSealer } from '../../../server/db/encryption.ts'
import { auditEntries, credentials, members, people, sessions } from '../../../server/db/people-schema.ts'
import { createAccount } from '../../../server/directory/accounts.ts'
import { reasonOf } from '../../../server/errors.ts'
import { type TestAccount, testAccount } from '../../harness/account.ts'
import { type OidcProvider, startOidcProvider } from '../../harness/oidc-provider.ts'
import { callsWith, startDashboard } from '../../harness/person.ts'
import { callSignIn, totp } from '../../harness/sign-in.ts'
import { untilEnd } from '../../harness/until-end.ts'

const PASSWORD = 'correct horse battery'
/** Nothing listens there: the tests read what the browser would be sent back with. */
const PUBLIC_URL = 'http://127.0.0.2:9'

let account: TestAccount
let provider: OidcProvider
let count = 0

;[account, provider] = await Promise.all([
  testAccount(),
  startOidcProvider(() => `${PUBLIC_URL}/dashboard/oidc`).then(untilEnd),
])
const { db, clock } = account
const issuer = { url: provider.config.issuer, host: new URL(provider.config.issuer).host }
const about = { version: 'test', region: 'eu' }
const parts = { db, clock, about, publicUrl: () => PUBLIC_URL, issuer }
const sealer = createSealer([{ id: 'test', key: randomBytes(32) }])
const dashboard = await startDashboard({
  sealer,
  db,
  clock,
  publicUrl: PUBLIC_URL,
  oidc: provider.config,
  services: [
    createServiceImplSpec<typeof PersonService>(PersonService, createPersonService(parts)),
    createServiceImplSpec<typeof PeopleService>(PeopleService, createPeopleService(parts)),
  ],
  openServices: (people) => [
    createServiceImplSpec<typeof InvitationService>(
      InvitationService,
      createInvitationService({ ...parts, ...people }),
    ),
    createServiceImplSpec<typeof SignInService>(SignInService, createSignInService({ ...parts, ...people, sealer })),
  ],
})
beforeEach(() => {
  provider.isUp = true
  provider.signedInSecondsAgo = 0
  provider.onToken = () => {}
})

/** A new person of the provider, with a verified address. */
function newLogin(claims: object = {}) {
  const login = `login-${++count}`
  const email = `${login}@people.test`
  provider.people.set(login, { email, email_verified: true, name: `Person ${count}`, ...claims })
  return { login, email }
}

/** A page's request. Its cookies add to those that the browser has. */
async function call(path: string, body: object, cookie = '', origin = PUBLIC_URL) {
  const response = await fetch(`${dashboard.url}/api/auth${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin, cookie, 'user-agent': 'A browser' },
    body: JSON.stringify(body),
  })
  const set = response.headers.getSetCookie().map((header) => header.split(';', 1)[0]!)
  const json = JSON.parse(await response.text())
  return { status: response.status, json, set, headers: response.headers }
}

interface Visit {
  login: string
  purpose?: string
  /** The session's cookie. */
  cookie?: string
  invitation?: string
  browser?: ReturnType<OidcProvider['browser']>
}

/** Starts, signs in at the provider, and returns what ends it. */
async function begin({ login, purpose = 'sign-in', cookie = '', browser = provider.browser(), ...more }: Visit) {
  const started = await call('/oidc/start', { purpose, ...more }, cookie)
  expect(started).toMatchObject({ status: 200 })
  const returned = await browser(started.json.url, login)
  const own = [cookie, ...started.set].filter(Boolean).join('; ')
  return { url: started.json.url as string, response: returned.search.slice(1), cookie: own }
}

async function visit(options: Visit) {
  const { response, cookie } = await begin(options)
  return call('/oidc/finish', { response }, cookie)
}

/** The session's cookie of a response. */
const sessionIn = ({ set }: { set: string[] }) => set.find((pair) => pair.startsWith('verdict.session_token='))!

const meWith = (cookie: string) => callsWith(cookie).client(PersonService, dashboard.url)

async function invited(email: string, role: Role = 'member') {
  const { id } = await createAccount(account.db, account.clock, `Account of ${email}`)
  const requester = { accountId: id, actor: { kind: 'operator', name: 'test' } } as const
  const made = await invite(account.db, account.clock, requester, { email, role, isMailed: false })
  return { accountId: id, token: made!.token }
}

/** A person who was invited and has signed in by the provider. */
async function personByProvider() {
  const { login, email } = newLogin()
  const { accountId } = await invited(email, 'owner')
  const browser = provider.browser()
  const entered = await visit({ login, browser })
  return { login, email, accountId, browser, cookie: sessionIn(entered) }
}

const personOf = async (email: string) => (await account.db.select().from(people).where(eq(people.email, email)))[0]
const actionsOn = async (accountId: string) => {
  const rows = await account.db.select().from(auditEntries).where(eq(auditEntries.accountId, accountId))
  return rows.map(({ action }) => action)
}
/** Lets the last confirmation of every session be long ago. */
const forgetConfirmations = () => account.db.update(sessions).set({ confirmedAt: new Date(0) })
const codeOf = (promise: Promise<unknown>) => promise.then(() => undefined, reasonOf)

test('pages without a session learn the host of the issuer', async () => {
  const found = await callsWith('').client(SignInService, dashboard.url).getSignInMethods({})
  expect(found.issuerHost).toBe(new URL(provider.config.issuer).host)
})

test('an identity accepts the invitations to its verified address, and signs in from then on', async () => {
  const { login, email } = newLogin({ name: 'Ann Example' })
  const { accountId } = await invited(email, 'reader')
  const first = await visit({ login })
  expect(first).toMatchObject({ status: 200, json: {} })
  const me = await meWith(sessionIn(first)).getPerson({})
  expect(me).toMatchObject({ name: 'Ann Example', email, hasPassword: false })
  expect(me.identities.map(({ issuer }) => issuer)).toEqual([provider.config.issuer])
  expect(await account.db.select().from(members).where(eq(members.accountId, accountId))).toMatchObject([
    { role: 'reader' },
  ])
  expect(await personOf(email)).toMatchObject({ emailVerified: true })
  const again = await visit({ login })
  expect(again.status).toBe(200)
  expect((await meWith(sessionIn(again)).getPerson({})).personId).toBe(me.personId)
  expect(await actionsOn(accountId)).toEqual([
    'person.invite',
    'person.join',
    'person.oidc_link',
    'person.oidc_sign_in',
    'person.oidc_sign_in',
  ])
})

test.each([
  ['without an invitation', {}],
  ['whose address is not verified', { email_verified: false }],
  ['whose provider only says that the address is "true"', { email_verified: 'true' }],
  ['without an address', { email: undefined }],
])('an identity %s gets 403 with words, and nothing is created', async (_, claims) => {
  const { login, email } = newLogin(claims)
  if ('email_verified' in claims) await invited(email)
  const { status, json, set } = await visit({ login })
  expect({ status, error: json.error }).toEqual({ status: 403, error: 'not_invited' })
  expect(json.message).toMatch(/invit/)
  expect(set.filter((pair) => pair.includes('session_token'))).toEqual([])
  expect(await personOf(email)).toBeUndefined()
  expect(await account.db.$count(credentials, eq(credentials.accountId, login))).toBe(0)
})

test('an identity is never linked by its address: the person with a password links it while signed in', async () => {
  const { login, email } = newLogin()
  const person = await dashboard.person({ accountId: account.accountId, password: PASSWORD })
  await account.db.update(people).set({ email }).where(eq(people.id, person.personId))
  expect(await visit({ login })).toMatchObject({ status: 403, json: { error: 'not_invited' } })
  const { accountId } = await invited(email)
  expect(await visit({ login })).toMatchObject({ status: 409, json: { error: 'wrong_state' } })
  expect(await account.db.$count(members, eq(members.accountId, accountId))).toBe(0)
  expect(await visit({ login, purpose: 'link', cookie: person.cookie })).toMatchObject({ status: 200 })
  const signedIn = await visit({ login })
  expect((await meWith(sessionIn(signedIn)).getPerson({})).email).toBe(email)
})

test('the link of an invitation joins the account with the identity that the issuer verifies, and no other', async () => {
  const [ann, bob] = [await personByProvider(), await personByProvider()]
  const { accountId, token } = await invited(ann.email, 'reader')
  expect(await visit({ login: bob.login, invitation: token })).toMatchObject({ status: 403 })
  expect(await visit({ login: ann.login, invitation: token })).toMatchObject({ status: 200 })
  expect(await account.db.$count(members, eq(members.accountId, accountId))).toBe(1)
  expect(await visit({ login: ann.login, invitation: token })).toMatchObject({ status: 404 })
})

test('linking needs a credential that was entered within ten minutes, and the same session in the end', async () => {
  const { login } = newLogin()
  const late = await dashboard.person({ confirmed: false })
  expect(await call('/oidc/start', { purpose: 'link' }, late.cookie)).toMatchObject({
    status: 403,
    json: { error: 'confirmation_required' },
  })
  expect(await call('/oidc/start', { purpose: 'link' })).toMatchObject({ status: 401 })
  const [one, other] = [await dashboard.person(), await dashboard.person()]
  const begun = await begin({ login, purpose: 'link', cookie: one.cookie })
  const stolen = begun.cookie.replace(one.cookie, other.cookie)
  expect(await call('/oidc/finish', { response: begun.response }, stolen)).toMatchObject({ status: 401 })
  expect(await account.db.$count(credentials, eq(credentials.accountId, login))).toBe(0)
})

test('an identity belongs to one person, and a person has one at an issuer', async () => {
  const { login } = newLogin()
  const [one, other] = [await dashboard.person(), await dashboard.person()]
  expect(await visit({ login, purpose: 'link', cookie: one.cookie })).toMatchObject({ status: 200 })
  expect(await visit({ login, purpose: 'link', cookie: other.cookie })).toMatchObject({ status: 409 })
  expect(await visit({ login: newLogin().login, purpose: 'link', cookie: one.cookie })).toMatchObject({ status: 409 })
})

test('the last way to sign in cannot be unlinked; beside a password it can', async () => {
  const { issuer } = provider.config
  const { cookie } = await personByProvider()
  await account.db.update(sessions).set({ confirmedAt: new Date() })
  expect(await codeOf(meWith(cookie).unlinkIdentity({ issuer }))).toBe('wrong_state')
  const person = await dashboard.person({ accountId: account.accountId, password: PASSWORD })
  const { login } = newLogin()
  await visit({ login, purpose: 'link', cookie: person.cookie })
  expect(await codeOf(meWith(person.cookie).unlinkIdentity({ issuer: 'credential' }))).toBe('not_found')
  await meWith(person.cookie).unlinkIdentity({ issuer })
  expect(await meWith(person.cookie).getPerson({})).toMatchObject({ hasPassword: true, identities: [] })
  expect(await visit({ login })).toMatchObject({ status: 403 })
  const entries = await account.db
    .select()
    .from(auditEntries)
    .where(and(eq(auditEntries.accountId, account.accountId), inArray(auditEntries.action, ['person.oidc_unlink'])))
  expect(entries).toMatchObject([{ target: person.email, before: { issuer } }])
})

test('signing in by the issuer does not confirm; a sign-in there that is newer than the request does', async () => {
  const { login, browser, cookie, accountId } = await personByProvider()
  const me = callsWith(cookie, accountId)
  const inviting = () =>
    codeOf(me.client(PeopleService, dashboard.url).invitePerson({ email: 'x@people.test', role: 1 }))
  expect(await inviting()).toBe('confirmation_required')
  const { url, response, cookie: own } = await begin({ login, purpose: 'confirm', cookie, browser })
  expect(new URL(url).searchParams.get('max_age')).toBe('0')
  expect(await call('/oidc/finish', { response }, own)).toMatchObject({ status: 200 })
  expect(await inviting()).toBeUndefined()
  await forgetConfirmations()
  expect(await inviting()).toBe('confirmation_required')
})

test('another identity, or a sign-in at the issuer that is a minute old, confirms nothing', async () => {
  const [ann, bob] = [await personByProvider(), await personByProvider()]
  expect(await visit({ login: bob.login, purpose: 'confirm', cookie: ann.cookie })).toMatchObject({ status: 401 })
  // As from a provider that ignores max_age.
  provider.signedInSecondsAgo = 60
  const started = await call('/oidc/start', { purpose: 'confirm' }, ann.cookie)
  const url = new URL(started.json.url)
  url.searchParams.delete('max_age')
  const returned = await ann.browser(url.href, ann.login)
  const own = [ann.cookie, ...started.set].join('; ')
  expect(await call('/oidc/finish', { response: returned.search.slice(1) }, own)).toMatchObject({ status: 401 })
  expect((await meWith(ann.cookie).getPerson({})).confirmedUntil).toBeUndefined()
  provider.signedInSecondsAgo = 0
  const { login, cookie, browser } = ann
  expect(await visit({ login, cookie, browser, purpose: 'confirm' })).toMatchObject({ status: 200 })
})

test('only the browser that began a sign-in can end it, once, with the state and the nonce of its own', async () => {
  const { login, email } = newLogin()
  await invited(email)
  const begun = await begin({ login })
  const other = await begin({ login })
  for (const [response, cookie] of [
    [begun.response, ''],
    [begun.response, 'verdict.oidc=AAAA'],
    [begun.response, other.cookie],
    ['', begun.cookie],
    [begun.response.replace(/state=[^&]+/, 'state=x'), begun.cookie],
    [begun.response.replace(/iss=[^&]+/, 'iss=https%3A%2F%2Felsewhere.test'), begun.cookie],
    ['error=access_denied', begun.cookie],
  ] as const) {
    const { status, json } = await call('/oidc/finish', { response }, cookie)
    expect([response, status, json.error]).toEqual([response, 401, 'wrong_credentials'])
  }
  const ended = await call('/oidc/finish', { response: begun.response }, begun.cookie)
  expect(ended.status).toBe(200)
  expect(ended.headers.getSetCookie()[0]).toMatch(/^verdict\.oidc=; Max-Age=0; Path=\/api\/auth\/oidc; HttpOnly/)
  expect(await call('/oidc/finish', { response: begun.response }, begun.cookie)).toMatchObject({ status: 401 })
})

test.each([
  ['signature', (token: string[]) => [token[0], token[1], `${token[2]!.slice(0, -8)}AAAAAAAA`]],
  ['nonce', (token: string[]) => [token[0], changed(token[1]!, { nonce: 'x' }), token[2]]],
  ['algorithm', (token: string[]) => [changed(token[0]!, { alg: 'none' }), token[1], '']],
])('an ID token with another %s is refused', async (_, change) => {
  const { login, email } = newLogin()
  await invited(email)
  provider.onToken = (response) => {
    response.id_token = change(String(response.id_token).split('.')).join('.')
  }
  expect(await visit({ login })).toMatchObject({ status: 401, json: { error: 'wrong_credentials' } })
  expect(await personOf(email)).toBeUndefined()
})

const changed = (part: string, more: object) =>
  Buffer.from(JSON.stringify({ ...JSON.parse(Buffer.from(part, 'base64url').toString()), ...more })).toString(
    'base64url',
  )

test('the request has PKCE, a state and a nonce, and a page of another origin cannot start it', async () => {
  const { json } = await call('/oidc/start', { purpose: 'sign-in' })
  const asked = new URL(json.url).searchParams
  expect(Object.fromEntries(asked)).toMatchObject({
    code_challenge_method: 'S256',
    response_type: 'code',
    scope: 'openid email profile',
    redirect_uri: `${PUBLIC_URL}/dashboard/oidc`,
  })
  for (const name of ['state', 'nonce', 'code_challenge']) expect(asked.get(name)).toHaveLength(43)
  expect(await call('/oidc/start', { purpose: 'sign-in' }, '', 'https://elsewhere.test')).toMatchObject({
    status: 403,
    json: { error: 'wrong_origin' },
  })
  expect(await call('/oidc/start', { purpose: 'own' })).toMatchObject({ status: 400 })
})

test('a person with a second factor enters a code after the issuer, too', async () => {
  const person = await dashboard.person({ password: PASSWORD })
  const url = dashboard.url
  const first = await call('/two-factor/enable', { password: PASSWORD }, person.cookie)
  const verified = await call('/two-factor/verify-totp', { code: totp(first.json.totpURI) }, person.cookie)
  const { login } = newLogin()
  await visit({ login, purpose: 'link', cookie: sessionIn(verified) ?? person.cookie })
  const half = await visit({ login })
  expect(half).toMatchObject({ status: 200, json: { twoFactorRedirect: true } })
  expect(sessionIn(half)).toBeUndefined()
  const waiting = half.set.join('; ')
  expect(await callSignIn('/two-factor/verify-totp', { code: '000000' }, { url, cookie: waiting })).toMatchObject({
    status: 401,
  })
  const code = totp(first.json.totpURI, 1)
  const entered = await callSignIn('/two-factor/verify-totp', { code }, { url, cookie: waiting })
  expect(entered.status).toBe(200)
  expect((await meWith(entered.cookie).getPerson({})).email).toBe(person.email)
})

test('while the issuer does not respond, the start says so and passwords still sign in', async () => {
  // A new process, which has not read the metadata of the issuer.
  const fresh = await startDashboard({ ...account, oidc: provider.config })
  const { url } = fresh
  provider.isUp = false
  const down = await callSignIn('/oidc/start', { purpose: 'sign-in' }, { url })
  expect(down).toMatchObject({ status: 503, json: { error: 'transient_failure' } })
  expect(down.json.message).toMatch(/^127\.0\.0\.1:\d+ does not respond/)
  const { email } = await fresh.person({ password: PASSWORD })
  expect((await callSignIn('/sign-in/email', { email, password: PASSWORD }, { url })).status).toBe(200)
  provider.isUp = true
  expect((await callSignIn('/oidc/start', { purpose: 'sign-in' }, { url })).status).toBe(200)
})

test('a wrong client secret is a fault for the operator, and says so', async () => {
  const { login, email } = newLogin()
  await invited(email)
  const wrong = { ...provider.config, clientSecret: 'another secret of at least 32 letters' }
  const other = await startDashboard({ ...account, oidc: wrong, publicUrl: PUBLIC_URL })
  const { url } = other
  const headers = { 'content-type': 'application/json', origin: PUBLIC_URL }
  const post = (path: string, body: object, cookie = '') =>
    fetch(`${url}/api/auth${path}`, { method: 'POST', headers: { ...headers, cookie }, body: JSON.stringify(body) })
  const started = await post('/oidc/start', { purpose: 'sign-in' })
  const { url: at } = JSON.parse(await started.text())
  const returned = await provider.browser()(at, login)
  const response = { response: returned.search.slice(1) }
  const ended = await post('/oidc/finish', response, started.headers.getSetCookie()[0]!.split(';', 1)[0])
  expect(ended.status).toBe(503)
  expect(JSON.parse(await ended.text()).message).toMatch(/refuses this service: .*OIDC_CLIENT_SECRET/)
})

test('without an issuer the paths are not found', async () => {
  const without = await startDashboard(account)
  const found = await callSignIn('/oidc/start', { purpose: 'sign-in' }, { url: without.url })
  expect(found).toMatchObject({ status: 404, json: { error: 'not_found' } })
})

test('a person whose only identity is of another issuer is named', async () => {
  const { email } = await personByProvider()
  expect(await peopleWithoutSignIn(account.db, provider.config.issuer)).not.toContain(email)
  expect(await peopleWithoutSignIn(account.db, 'https://another.test')).toContain(email)
  expect(await peopleWithoutSignIn(account.db, undefined)).toContain(email)
})
