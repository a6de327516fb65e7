import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { PersonService } from '../../../gen/verdict/admin/v1/person_pb.ts'
import { createSessionCookie } from '../../../server/access/people/cookie.ts'
import { signingKeys } from '../../../server/access/people/signing-keys.ts'
import { eq } from '../../../server/db/drizzle.ts'
import { createSealer } from '../../../server/db/encryption.ts'
import { sessions } from '../../../server/db/people-schema.ts'
import { testAccount } from '../../harness/account.ts'
import { callsWith, personService, startDashboard } from '../../harness/person.ts'
import { callSignIn, totp } from '../../harness/sign-in.ts'

// An attacker plants cookies in a browser before its person signs in (session fixation), or the cookies of the
// attacker's sign-in (login CSRF). Whatever the browser brings, the session of the person is a new one, and theirs
// alone.

const PASSWORD = 'correct horse battery'
const sealer = createSealer([{ id: 'test', key: randomBytes(32) }])
const cookies = createSessionCookie({ keys: signingKeys(sealer), secure: false })

const account = await testAccount()
const { db, clock } = account
const services = [personService(account)]
const dashboard = await startDashboard({ db, clock, services, sealer, trustProxy: ['127.0.0.0/8'] })
const attacker = await dashboard.person({ password: PASSWORD })
const victim = await dashboard.person({ password: PASSWORD })

const call = (path: string, body: object, cookie?: string) => callSignIn(path, body, { url: dashboard.url, cookie })
const signIn = (email: string, cookie?: string) => call('/sign-in/email', { email, password: PASSWORD }, cookie)
const personBehind = (cookie: string) =>
  callsWith(cookie)
    .client(PersonService, dashboard.url)
    .getPerson({})
    .then(({ email }) => email)
    .catch(() => undefined)
const careful = await withSecondFactor()
const { cookie: attackerWaiting } = await signIn((await withSecondFactor()).email)

async function withSecondFactor() {
  const { email, cookie } = await dashboard.person({ password: PASSWORD })
  const { json } = await call('/two-factor/enable', { password: PASSWORD }, cookie)
  const set = await call('/two-factor/verify-totp', { code: totp(json.totpURI) }, cookie)
  return { email, cookie: set.cookie, code: () => totp(json.totpURI, 1), backupCodes: json.backupCodes as string[] }
}

/** Cookies that an attacker has, or can make, and plants. */
const PLANTED: [what: string, plant: (attacker: { cookie: string; email: string }) => Promise<string>][] = [
  ['a session of the attacker', async ({ cookie }) => cookie],
  [
    'a session that was ended',
    async ({ cookie, email }) => {
      const fresh = (await signIn(email)).cookie
      expect((await call('/sign-out', {}, fresh)).status).toBe(200)
      return fresh || cookie
    },
  ],
  ['an invented token', async () => `verdict.session_token=${randomBytes(16).toString('hex')}.AAAA`],
  ['a token without a signature', async ({ cookie }) => cookie.replace(/\.[^.]*$/, '')],
  ['a signed token that no session has', async () => cookies.pair('planted')],
  ['two sessions', async ({ cookie }) => `${cookie}; ${cookies.pair('planted')}`],
  ['a sign-in of the attacker before its code', async () => attackerWaiting],
  [
    'cookies of other names of better-auth',
    async () =>
      'verdict.session_data=AAAA; verdict.dont_remember=true; verdict.trust_device=AAAA; verdict.two_factor=AAAA',
  ],
]

const tokenOf = (cookie: string) => cookies.read(cookie)

test.each(PLANTED)('with %s in the browser, a sign-in makes a session of its own', async (_, plant) => {
  const planted = await plant(attacker)
  const { status, cookie } = await signIn(victim.email, planted)
  expect(status).toBe(200)
  expect(tokenOf(cookie)).toBeDefined()
  expect(planted).not.toContain(tokenOf(cookie)!)
  expect(await personBehind(cookie)).toBe(victim.email)
  expect(await personBehind(planted)).not.toBe(victim.email)
})

test.each(PLANTED)(
  'with %s in the browser, a code of the second factor signs in its own person only',
  async (_, plant) => {
    const planted = await plant(attacker)
    const halfway = await signIn(careful.email, planted)
    expect(halfway.json).toMatchObject({ twoFactorRedirect: true })
    const before = await account.db.select().from(sessions)
    // A browser keeps a planted cookie that the response does not replace, and may send it first.
    const both = `${planted}; ${halfway.cookie}`
    const entered = await call('/two-factor/verify-backup-code', { code: careful.backupCodes.pop()! }, both)
    const token = tokenOf(entered.cookie)
    // Refused, or the session is new and the victim's: no session of before has changed its person.
    if (token !== undefined) {
      expect(before.map((session) => session.token)).not.toContain(token)
      expect(await personBehind(cookies.pair(token))).toBe(careful.email)
    }
    for (const { id, userId } of before) {
      const [now] = await account.db.select().from(sessions).where(eq(sessions.id, id))
      if (now) expect(now.userId).toBe(userId)
    }
    expect(await personBehind(planted)).not.toBe(careful.email)
  },
)

test('a session of before a new password, a second factor or its end is worth nothing afterwards', async () => {
  const person = careful
  const body = { currentPassword: PASSWORD, newPassword: 'a quite new password' }
  const stolen = cookies.pair(tokenOf(person.cookie)!)
  const changed = await call('/change-password', body, person.cookie)
  expect(changed.status).toBe(200)
  const off = await call('/two-factor/disable', { password: body.newPassword }, changed.cookie || person.cookie)
  expect(off.status).toBe(200)
  expect(await personBehind(off.cookie)).toBe(person.email)
  expect(tokenOf(off.cookie)).not.toBe(tokenOf(person.cookie))
  expect(await personBehind(stolen)).toBeUndefined()
})
