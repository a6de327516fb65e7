import { randomBytes } from 'node:crypto'
import { Code, type ConnectError, createClient, createServiceImplSpec } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node'
import { expect, test } from 'vitest'
import { PersonService } from '../../../gen/verdict/admin/v1/person_pb.ts'
import { LimitsService } from '../../../gen/verdict/v1/limits_pb.ts'
import { WebhookService } from '../../../gen/verdict/v1/webhooks_pb.ts'
import { createKey } from '../../../server/access/api-keys.ts'
import { createSessionCookie } from '../../../server/access/people/cookie.ts'
import { createSessionGate } from '../../../server/access/people/session-gate.ts'
import { signingKeys } from '../../../server/access/people/signing-keys.ts'
import { DEFAULT_LIMITS } from '../../../server/config/limits.ts'
import { and, eq } from '../../../server/db/drizzle.ts'
import { publicId } from '../../../server/db/ids.ts'
import { auditEntries, members, people, sessions } from '../../../server/db/people-schema.ts'
import { createAccount } from '../../../server/directory/accounts.ts'
import { reasonOf } from '../../../server/errors.ts'
import { createLimitsService } from '../../../server/services/limits.ts'
import { testAccount } from '../../harness/account.ts'
import { callsWith, personService, startDashboard } from '../../harness/person.ts'

const deleted: string[] = []

const account = await testAccount()
const limits = createLimitsService({ db: account.db, limits: DEFAULT_LIMITS })
const dashboard = await startDashboard({
  ...account,
  services: [personService(account)],
  publicServices: [
    createServiceImplSpec<typeof LimitsService>(LimitsService, limits),
    createServiceImplSpec<typeof WebhookService>(WebhookService, {
      deleteWebhook: async () => {
        deleted.push('webhook')
        return {}
      },
    }),
  ],
})

const PERSON = '/verdict.admin.v1.PersonService/GetPerson'
const LIMITS = '/verdict.v1.LimitsService/GetLimits'

/** The error code of a failed call. */
async function refusal(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => undefined,
    (error) => error,
  )
  return (error && reasonOf(error)) ?? `no refusal: ${error}`
}

/** The status and body of a Connect call by `fetch`. */
async function post(path: string, headers: Record<string, string>) {
  const response = await fetch(dashboard.url + path, { method: 'POST', headers, body: '{}' })
  const { code, message } = (await response.json()) as { code?: string; message?: string }
  return { status: response.status, code, message, headers: response.headers }
}

const JSON_TYPE = { 'content-type': 'application/json' }

test('a person calls the services of the dashboard and of the public API with the session', async () => {
  const { client, email } = await dashboard.person({ accountId: account.accountId, role: 'reader' })
  expect(await client(PersonService).getPerson({})).toMatchObject({ email, accounts: [{ name: 'Test', role: 1 }] })
  expect(await client(LimitsService).getLimits({})).toMatchObject({ requestsPerMinute: 1_000_000 })
})

test('a call without a cookie, or with one that was not signed here, has no session', async () => {
  const { cookie, headers } = await dashboard.person({ accountId: account.accountId })
  const forged = createSessionCookie({ keys: [randomBytes(32).toString('base64url')], secure: false }).pair('x')
  for (const wrong of ['', 'theme=dark', forged, `${cookie}x`, cookie.replace(/=./, '=')]) {
    expect(await post(PERSON, { ...headers, cookie: wrong })).toMatchObject({ status: 401, code: 'unauthenticated' })
  }
})

test('a cookie of another application on the same host does not turn a call with a missing key into a session', async () => {
  const { message } = await post(LIMITS, { ...JSON_TYPE, 'connect-protocol-version': '1', cookie: 'theme=dark' })
  expect(message).toContain('Authorization header is missing')
})

test('a cookie counts on Connect with its protocol header only', async () => {
  const { headers, cookie } = await dashboard.person({ accountId: account.accountId })
  const { 'connect-protocol-version': _, ...without } = headers
  expect(await post(LIMITS, without)).toMatchObject({ status: 401, code: 'unauthenticated' })
  expect(await post(PERSON, without)).toMatchObject({ status: 400, code: 'invalid_argument' })
  const rest = await fetch(`${dashboard.url}/api/v1/limits`, { headers })
  expect(rest.status).toBe(401)
  for (const create of [createGrpcTransport, createGrpcWebTransport]) {
    const transport = create({ baseUrl: dashboard.url, httpVersion: '2' } as never)
    const more = {
      headers: { cookie, 'verdict-account': headers['verdict-account']!, 'connect-protocol-version': '1' },
    }
    expect(await refusal(createClient(LimitsService, transport).getLimits({}, more))).toBe('invalid_api_key')
    expect(await refusal(createClient(PersonService, transport).getPerson({}, more))).toBe('method_not_allowed')
  }
})

test('an API key is no session, and beside a cookie it is the credential', async () => {
  const { db, clock, accountId } = account
  const other = await createAccount(db, clock, 'Other')
  const { key } = await createKey(db, clock, { accountId: other.id, name: 'k', kind: 'live', scopes: [] })
  const authorization = `Bearer ${key}`
  expect(await post(PERSON, { ...JSON_TYPE, authorization, 'connect-protocol-version': '1' })).toMatchObject({
    status: 401,
  })
  const { headers } = await dashboard.person({ accountId })
  expect(await post(LIMITS, { ...headers, authorization: 'Bearer wrong' })).toMatchObject({ status: 401 })
  expect(await post(LIMITS, { ...headers, authorization })).toMatchObject({ status: 200 })
})

test('an account that the person does not belong to is the same as one that does not exist', async () => {
  const { db, clock, accountId } = account
  const other = await createAccount(db, clock, 'Not theirs')
  const { headers } = await dashboard.person({ accountId })
  const answers = await Promise.all(
    [publicId('acc', other.id), publicId('acc', crypto.randomUUID()), 'acc_1', 'nonsense'].map((id) =>
      post(LIMITS, { ...headers, 'verdict-account': id }),
    ),
  )
  for (const answer of answers) {
    expect(answer).toMatchObject({ status: 404, code: 'not_found', message: answers[0]!.message })
  }
  const { 'verdict-account': _, ...none } = headers
  expect(await post(LIMITS, none)).toMatchObject({ status: 400, message: expect.stringContaining('Verdict-Account') })
})

test('a session that was ended and a person who was removed are refused at the next call', async () => {
  const { db, accountId } = account
  const { client, sessionId, personId } = await dashboard.person({ accountId })
  const limits = client(LimitsService)
  await limits.getLimits({})
  await db.delete(members).where(and(eq(members.accountId, accountId), eq(members.personId, personId)))
  expect(await refusal(limits.getLimits({}))).toBe('not_found')
  expect((await client(PersonService).getPerson({})).accounts).toEqual([])
  await client(PersonService).endSession({ sessionId: publicId('ses', sessionId) })
  expect(await refusal(client(PersonService).getPerson({}))).toBe('invalid_session')
})

test('the end of a session is in the audit log of every account of the person', async () => {
  const { db, accountId } = account
  const { client, sessionId, personId } = await dashboard.person({ accountId })
  await client(PersonService).endSession({ sessionId: publicId('ses', sessionId) })
  const entries = await db.select().from(auditEntries).where(eq(auditEntries.actorId, personId))
  const [{ email } = {}] = await db.select().from(people).where(eq(people.id, personId))
  expect(entries).toMatchObject([{ accountId, action: 'person.end_session', actorName: email, target: email }])
})

test('a session that has expired is refused', async () => {
  const { client, sessionId } = await dashboard.person()
  await account.db
    .update(sessions)
    .set({ expiresAt: new Date(0) })
    .where(eq(sessions.id, sessionId))
  expect(await refusal(client(PersonService).getPerson({}))).toBe('invalid_session')
})

test('use extends a session and its cookie once a day', async () => {
  const { headers, sessionId, cookie } = await dashboard.person()
  expect((await post(PERSON, headers)).headers.get('set-cookie')).toBeNull()
  const longAgo = new Date(Date.now() - 25 * 3_600_000)
  await account.db.update(sessions).set({ updatedAt: longAgo }).where(eq(sessions.id, sessionId))
  expect((await post(PERSON, headers)).headers.get('set-cookie')).toBe(
    `${cookie}; Max-Age=2592000; Path=/; HttpOnly; SameSite=Lax`,
  )
  expect((await post(PERSON, headers)).headers.get('set-cookie')).toBeNull()
  const [row] = await account.db.select().from(sessions).where(eq(sessions.id, sessionId))
  expect(row!.expiresAt.getTime()).toBeGreaterThan(Date.now() + 29 * 86_400_000)
})

test('a change of the webhook endpoint needs a password that was entered in the last ten minutes', async () => {
  const belonging = { accountId: account.accountId, role: 'member', password: 'correct horse battery' } as const
  const { client } = await dashboard.person({ ...belonging, confirmed: false })
  const webhooks = client(WebhookService)
  expect(await refusal(webhooks.deleteWebhook({}))).toBe('confirmation_required')
  const person = client(PersonService)
  expect((await person.getPerson({})).confirmedUntil).toBeUndefined()
  expect(await refusal(person.confirmPassword({ password: 'incorrect horse' }))).toBe('wrong_password')
  expect(await refusal(webhooks.deleteWebhook({}))).toBe('confirmation_required')
  const { confirmedUntil } = await person.confirmPassword({ password: belonging.password })
  expect(Number(confirmedUntil!.seconds) * 1_000).toBeGreaterThan(Date.now() + 9 * 60_000)
  await webhooks.deleteWebhook({})
  expect(deleted).toEqual(['webhook'])
})

test('a reader is told which role a change needs, whatever the password', async () => {
  const { client } = await dashboard.person({ accountId: account.accountId, role: 'reader', confirmed: false })
  const error = await client(WebhookService)
    .deleteWebhook({})
    .catch((error) => error as ConnectError)
  expect(error).toMatchObject({ code: Code.PermissionDenied })
  expect(reasonOf(error)).toBe('insufficient_role')
  expect((error as ConnectError).rawMessage).toBe('This needs the role member, and you are a reader of this account.')
})

test('the page of one account cannot end the session of another person', async () => {
  const [ann, ben] = [await dashboard.person(), await dashboard.person()]
  const end = ann.client(PersonService).endSession({ sessionId: publicId('ses', ben.sessionId) })
  expect(await refusal(end)).toBe('not_found')
  await ben.client(PersonService).getPerson({})
})

test('a cookie that an older encryption key signed still works', async () => {
  const { cookie } = await dashboard.person()
  const [current] = signingKeys(dashboard.sealer)
  const rotated = createSessionCookie({ keys: [randomBytes(32).toString('base64url'), current!], secure: false })
  expect(rotated.read(cookie)).toBe(decodeURIComponent(cookie.split('=')[1]!).split('.')[0])
  expect(callsWith(cookie).headers).not.toHaveProperty('verdict-account')
})

test('a session has a generous limit of its own, which its responses show', async () => {
  const { headers } = await dashboard.person()
  const { headers: rate } = await post(PERSON, headers)
  expect(rate.get('x-ratelimit-limit')).toBe('3000')
  expect(rate.get('x-ratelimit-remaining')).toBe('2999')
})

test('an address that makes more than 600 calls a minute without a session is refused', async () => {
  const cookie = createSessionCookie({ keys: signingKeys(dashboard.sealer), secure: false })
  const gate = createSessionGate({ ...account, limits: DEFAULT_LIMITS, cookie: () => cookie })
  const call = (remoteAddress: string) => {
    const parts = { method: PersonService.method.getPerson, cookie: undefined, account: undefined }
    return refusal(gate({ ...parts, remoteAddress, tellRate: () => {}, setCookie: () => {} }))
  }
  for (let i = 0; i < 600; i++) expect(await call('192.0.2.1')).toBe('invalid_session')
  expect(await call('192.0.2.1')).toBe('rate_limit_exceeded')
  expect(await call('192.0.2.2')).toBe('invalid_session')
})

test('the transport of a browser is served', async () => {
  const { cookie } = await dashboard.person()
  const transport = createConnectTransport({ baseUrl: dashboard.url, httpVersion: '1.1', useBinaryFormat: false })
  const { email } = await createClient(PersonService, transport).getPerson({}, { headers: { cookie } })
  expect(email).toContain('@people.test')
})
