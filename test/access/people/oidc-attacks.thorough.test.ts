import { createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto'
import { afterEach, expect, test } from 'vitest'
import { invite } from '../../../server/access/people/invitations.ts'
import { eq } from '../../../server/db/drizzle.ts'
import { createSealer } from '../../../server/db/encryption.ts'
import { credentials, people, sessions } from '../../../server/db/people-schema.ts'
import { createAccount } from '../../../server/directory/accounts.ts'
import { testAccount } from '../../harness/account.ts'
import { type Lies, type LyingIssuer, signHmac, signRsa, startLyingIssuer } from '../../harness/lying-issuer.ts'
import { startDashboard } from '../../harness/person.ts'
import { untilEnd } from '../../harness/until-end.ts'

// An issuer that lies. What it says is signed with its own key, unless the signature is the lie.

const PUBLIC_URL = 'http://127.0.0.2:9'
const OTHER_KEY = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey

const sealer = createSealer([{ id: 'test', key: randomBytes(32) }])
let count = 0

const startProcess = (of: LyingIssuer = issuer) => {
  const { db, clock } = account
  return startDashboard({ db, clock, sealer, publicUrl: PUBLIC_URL, oidc: of.config })
}

const [account, issuer] = await Promise.all([testAccount(), startLyingIssuer().then(untilEnd)])
const dashboard = await startProcess()
afterEach(() => {
  issuer.lies = {}
})

async function call(path: string, body: object, cookie = '', url = dashboard.url) {
  const response = await fetch(`${url}/api/auth${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: PUBLIC_URL, cookie },
    body: JSON.stringify(body),
  })
  const set = response.headers.getSetCookie().map((header) => header.split(';', 1)[0]!)
  return { status: response.status, json: JSON.parse(await response.text()), set }
}

/** A person of the issuer who is invited. */
async function invitedPerson(claims: object = {}, of = issuer) {
  const subject = `subject-${++count}`
  const email = `${subject}@people.test`
  of.people.set(subject, { email, email_verified: true, name: 'Ann', ...claims })
  const { db, clock } = account
  const { id: accountId } = await createAccount(db, clock, 'Web shop')
  const requester = { accountId, actor: { kind: 'operator', name: 'test' } } as const
  await invite(db, clock, requester, { email, role: 'reader', isMailed: false })
  return { subject, email }
}

async function signIn(subject: string, { url = dashboard.url, of = issuer } = {}) {
  const started = await call('/oidc/start', { purpose: 'sign-in' }, '', url)
  if (started.status !== 200) return started
  return call('/oidc/finish', { response: of.signIn(started.json.url, subject) }, started.set.join('; '), url)
}

/** No person was created, and nothing was linked. */
async function expectNobody({ subject, email }: { subject: string; email: string }) {
  expect(await account.db.$count(people, eq(people.email, email))).toBe(0)
  expect(await account.db.$count(credentials, eq(credentials.accountId, subject))).toBe(0)
}

const without = (name: string): Lies => ({ claims: ({ [name]: _, ...rest }) => rest })
const saying = (more: object): Lies => ({ claims: (honest) => ({ ...honest, ...more }) })
const under = (header: object, sign?: Lies['sign']): Lies => ({ header: (honest) => ({ ...honest, ...header }), sign })
const soon = (seconds: number) => Math.floor(Date.now() / 1_000) + seconds
const other = () => createPublicKey(OTHER_KEY).export({ format: 'jwk' })

const LIES: [what: string, lies: () => Lies][] = [
  ['without iss', () => without('iss')],
  ['of another issuer', () => saying({ iss: 'https://elsewhere.test' })],
  ['of the issuer with a slash', () => saying({ iss: `${issuer.config.issuer}/` })],
  ['without aud', () => without('aud')],
  ['for another client', () => saying({ aud: 'another' })],
  ['for a client whose id begins like ours', () => saying({ aud: 'verdict2' })],
  ['for several clients without ours', () => saying({ aud: ['a', 'b'] })],
  ['for several clients, on behalf of another', () => saying({ aud: ['verdict', 'a'], azp: 'a' })],
  ['without sub', () => without('sub')],
  ['with an empty sub', () => saying({ sub: '' })],
  ['with a sub longer than the standard allows', () => saying({ sub: 'x'.repeat(256) })],
  ['with a number as sub', () => saying({ sub: 7 })],
  ['without a nonce', () => without('nonce')],
  ['with another nonce', () => saying({ nonce: 'x'.repeat(43) })],
  ['with a list of nonces', () => ({ claims: (honest) => ({ ...honest, nonce: [honest.nonce] }) })],
  ['without exp', () => without('exp')],
  ['that has expired', () => saying({ exp: soon(-3_600) })],
  ['whose exp is a text', () => saying({ exp: String(soon(300)) })],
  ['without iat', () => without('iat')],
  ['that counts in an hour', () => saying({ nbf: soon(3_600) })],
  ['without a signature', () => under({ alg: 'none' }, () => Buffer.alloc(0))],
  ['with the algorithm None', () => under({ alg: 'None' }, () => Buffer.alloc(0))],
  ['with an empty signature', () => under({}, () => Buffer.alloc(0))],
  ['signed with HS256 and our client secret', () => under({ alg: 'HS256' }, signHmac(issuer.config.clientSecret))],
  [
    'signed with HS256 and the public key in PEM',
    () =>
      under({ alg: 'HS256' }, (signed, key) =>
        signHmac(createPublicKey(key).export({ format: 'pem', type: 'spki' }) as string)(signed),
      ),
  ],
  ['signed with another key under the known id', () => under({}, (signed) => signRsa(signed, OTHER_KEY))],
  ['signed with a key under an unknown id', () => under({ kid: 'x' }, (signed) => signRsa(signed, OTHER_KEY))],
  ['that brings its own key', () => under({ jwk: other(), kid: undefined }, (signed) => signRsa(signed, OTHER_KEY))],
  [
    'that says where its key is',
    () => under({ jku: `${issuer.config.issuer}/jwks2`, kid: 'x' }, (signed) => signRsa(signed, OTHER_KEY)),
  ],
  ['with an unknown critical header', () => under({ crit: ['later'], later: 1 })],
  ['with PS256, which the issuer does not announce', () => under({ alg: 'PS256' })],
]

test('an honest issuer signs in, and so does one with further claims', async () => {
  const ann = await invitedPerson()
  expect(await signIn(ann.subject)).toMatchObject({ status: 200 })
  issuer.lies = saying({ aud: ['verdict'], azp: 'verdict', groups: ['owner'], role: 'owner' })
  expect(await signIn(ann.subject)).toMatchObject({ status: 200 })
})

test.each(LIES)('an ID token %s is refused', async (_, lies) => {
  const ann = await invitedPerson()
  issuer.lies = lies()
  const { status, set } = await signIn(ann.subject)
  expect([401, 503]).toContain(status)
  expect(set.join()).not.toContain('session_token')
  await expectNobody(ann)
})

test.each([
  ['of another issuer (mix-up)', (response: URLSearchParams) => response.set('iss', 'https://elsewhere.test')],
  ['without the issuer that it announces', (response: URLSearchParams) => response.delete('iss')],
  ['without a state', (response: URLSearchParams) => response.delete('state')],
  ['with another state', (response: URLSearchParams) => response.set('state', 'x'.repeat(43))],
  ['with two states', (response: URLSearchParams) => response.append('state', 'x')],
  ['with two codes', (response: URLSearchParams) => response.append('code', 'x')],
  ['without a code', (response: URLSearchParams) => response.delete('code')],
  ['with an error beside the code', (response: URLSearchParams) => response.set('error', 'access_denied')],
])('a response %s is refused', async (_, response) => {
  const ann = await invitedPerson()
  issuer.lies = { response }
  expect((await signIn(ann.subject)).status).toBe(401)
  await expectNobody(ann)
})

test.each([
  ['absent', { email_verified: undefined }],
  ['false', { email_verified: false }],
  ['the text true', { email_verified: 'true' }],
  ['1', { email_verified: 1 }],
  ['a list', { email_verified: [true] }],
  ['true for no address', { email: undefined }],
  ['true for a list of addresses', { email: ['subject@people.test'] }],
])('an address is not verified when email_verified is %s, in the token and in userinfo', async (_, claims) => {
  const ann = await invitedPerson(claims)
  expect(await signIn(ann.subject)).toMatchObject({ status: 403, json: { error: 'not_invited' } })
  // Only userinfo has it.
  issuer.lies = { claims: ({ email: _, email_verified: __, ...rest }) => rest }
  expect(await signIn(ann.subject)).toMatchObject({ status: 403, json: { error: 'not_invited' } })
  await expectNobody(ann)
})

test('userinfo about another person is refused, and userinfo verifies no address of the token', async () => {
  const [ann, bob] = [await invitedPerson(), await invitedPerson()]
  issuer.lies = {
    claims: ({ email: _, email_verified: __, ...rest }) => rest,
    userinfo: () => ({ sub: bob.subject, ...issuer.people.get(bob.subject) }),
  }
  expect((await signIn(ann.subject)).status).not.toBe(200)
  issuer.lies = { claims: ({ email_verified: _, ...rest }) => ({ ...rest, email: bob.email }) }
  expect((await signIn(ann.subject)).status).toBe(403)
  await expectNobody(ann)
  await expectNobody(bob)
})

test('metadata of another issuer stop the sign-in before the browser is sent anywhere', async () => {
  issuer.lies = { metadata: (honest) => ({ ...honest, issuer: 'https://elsewhere.test' }) }
  const fresh = await startProcess()
  expect((await call('/oidc/start', { purpose: 'sign-in' }, '', fresh.url)).status).toBe(503)
})

test('after the issuer has changed its key, the new one signs in and the old one does not', async () => {
  await using of = await startLyingIssuer()
  const [ann, bob] = [await invitedPerson({}, of), await invitedPerson({}, of)]
  const before = await startProcess(of)
  expect((await signIn(ann.subject, { url: before.url, of })).status).toBe(200)
  const gone = of.rotate()
  // A process that knows the metadata reads them, and the keys, again after ten seconds.
  const { url } = await startProcess(of)
  of.lies = under({ kid: gone.kid }, (signed) => signRsa(signed, gone.key))
  expect((await signIn(bob.subject, { url, of })).status).toBe(401)
  await expectNobody(bob)
  of.lies = {}
  expect((await signIn(ann.subject, { url, of })).status).toBe(200)
})

test('the same sub at another issuer is another person', async () => {
  const ann = await invitedPerson()
  expect((await signIn(ann.subject)).status).toBe(200)
  await using elsewhere = await startLyingIssuer()
  elsewhere.people.set(ann.subject, { email: ann.email, email_verified: true })
  const moved = await startProcess(elsewhere)
  const before = await account.db.$count(sessions)
  expect(await signIn(ann.subject, { url: moved.url, of: elsewhere })).toMatchObject({ status: 403 })
  // Nor when it says that it is the first issuer.
  elsewhere.lies = { claims: (honest) => ({ ...honest, iss: issuer.config.issuer }) }
  expect((await signIn(ann.subject, { url: moved.url, of: elsewhere })).status).toBe(401)
  expect(await account.db.$count(sessions)).toBe(before)
})

test('a response that was meant for another sign-in, or was used before, signs in nobody', async () => {
  const ann = await invitedPerson()
  const [one, two] = [
    await call('/oidc/start', { purpose: 'sign-in' }),
    await call('/oidc/start', { purpose: 'sign-in' }),
  ]
  const response = issuer.signIn(one.json.url, ann.subject)
  expect((await call('/oidc/finish', { response }, two.set.join('; '))).status).toBe(401)
  // The state of the browser's own sign-in, and the code of another one: the nonce tells.
  const stolen = new URLSearchParams(response)
  stolen.set('state', new URL(two.json.url).searchParams.get('state')!)
  expect((await call('/oidc/finish', { response: stolen.toString() }, two.set.join('; '))).status).toBe(401)
  await expectNobody(ann)
})
