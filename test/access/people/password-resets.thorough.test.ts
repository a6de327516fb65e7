import { createClient, createServiceImplSpec } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-node'
import { beforeEach, expect, test, vi } from 'vitest'
import { SignInService } from '../../../gen/verdict/admin/v1/person_pb.ts'
import { createLinkTokens } from '../../../server/access/people/mail-links.ts'
import { createSignInService } from '../../../server/admin/sign-in.ts'
import { desc, eq } from '../../../server/db/drizzle.ts'
import { newId } from '../../../server/db/ids.ts'
import { auditEntries, credentials, notices, people, sessions } from '../../../server/db/people-schema.ts'
import { reasonOf } from '../../../server/errors.ts'
import { addPerson, startDashboard } from '../../harness/person.ts'
import { callSignIn } from '../../harness/sign-in.ts'
import { createTestSender, mailedToken } from '../../notices/notice-sender.ts'
import { script, startSendingWorld } from '../../sending/world.ts'

const OLD = 'the old password of ann'
const NEW = 'a new password for ann'
const EMAIL = 'ann@example.net'

let ann: string
/** Each test calls from another network, whose attempts are counted for themselves. */
let network = 0

const world = await startSendingWorld()
const dashboard = await startDashboard({
  ...world,
  trustProxy: ['127.0.0.1'],
  openServices: (parts) => [
    createServiceImplSpec<typeof SignInService>(
      SignInService,
      createSignInService({ ...world, ...parts, notifyFrom: 'verdict@example.test' }),
    ),
  ],
})

beforeEach(async () => {
  const { db, account, exchanger } = world
  await db.delete(notices)
  await db.delete(people)
  exchanger.messages.length = 0
  network++
  ann = (await addPerson(db, { accountId: account.id, email: EMAIL, password: OLD })).personId
})

function client() {
  const transport = createConnectTransport({
    baseUrl: dashboard.url,
    httpVersion: '1.1',
    interceptors: [
      (next) => (request) => {
        request.header.set('x-forwarded-for', `198.51.${network}.1`)
        return next(request)
      },
    ],
  })
  return createClient(SignInService, transport)
}

async function askForLink(): Promise<string> {
  await client().requestPasswordReset({ email: EMAIL })
  await createTestSender(world).sendDue()
  return mailedToken(world, 'reset')
}

const failure = (call: Promise<unknown>) => call.then(() => 'none', reasonOf)
const signIn = (password: string) =>
  callSignIn('/sign-in/email', { email: EMAIL, password }, { url: dashboard.url, from: `198.51.${network}.1` })

test('the link of a mail sets a new password, once', async () => {
  const token = await askForLink()
  expect(await client().getPasswordReset({ token })).toMatchObject({ email: EMAIL })
  expect(await client().resetPassword({ token, password: NEW })).toMatchObject({ email: EMAIL })
  expect((await signIn(OLD)).status).toBe(401)
  expect((await signIn(NEW)).status).toBe(200)
  expect(await failure(client().getPasswordReset({ token }))).toBe('not_found')
  expect(await failure(client().resetPassword({ token, password: OLD }))).toBe('not_found')
})

test('a new password ends every session, keeps the second factor, and is in the audit log', async () => {
  const { db, clock } = world
  const at = new Date(clock.now())
  await db.insert(sessions).values({ id: newId(0), token: 't', userId: ann, expiresAt: new Date(at.getTime() + 1e6) })
  await db.update(people).set({ twoFactorEnabled: true })
  const token = await askForLink()
  await client().resetPassword({ token, password: NEW })
  expect(await db.select().from(sessions)).toEqual([])
  expect(await db.select().from(people)).toMatchObject([{ twoFactorEnabled: true, emailVerified: true }])
  const [entry] = await db.select().from(auditEntries).orderBy(desc(auditEntries.id)).limit(1)
  expect(entry).toMatchObject({ action: 'person.reset_password', target: EMAIL, remoteAddress: `198.51.${network}.1` })
  expect(JSON.stringify(entry)).not.toContain(token)
})

test('the response is the same for an address without a person, which gets no mail', async () => {
  const [known, unknown] = [
    await client().requestPasswordReset({ email: EMAIL }),
    await client().requestPasswordReset({ email: 'bob@example.net' }),
  ]
  expect(unknown).toEqual(known)
  await createTestSender(world).sendDue()
  expect(world.exchanger.messages.map(({ content }) => /^To: (.*)\r$/m.exec(content.toString())![1])).toEqual([EMAIL])
  const rows = await world.db.select().from(notices)
  expect(rows.map(({ state, email }) => [state, email]).sort()).toEqual([
    ['cancelled', null],
    ['sent', null],
  ])
})

test('a link works for an hour', async () => {
  const token = await askForLink()
  await world.db.update(notices).set({ createdAt: new Date(Date.now() - 3_601_000) })
  expect(await failure(client().resetPassword({ token, password: NEW }))).toBe('not_found')
})

test('when one of two links is used, the other no longer works', async () => {
  const first = await askForLink()
  const second = await askForLink()
  expect(first).not.toBe(second)
  await client().resetPassword({ token: second, password: NEW })
  expect(await failure(client().resetPassword({ token: first, password: OLD }))).toBe('not_found')
})

test('of two calls with one link at the same moment, one succeeds', async () => {
  const token = await askForLink()
  const results = await Promise.all([NEW, OLD].map((password) => failure(client().resetPassword({ token, password }))))
  expect(results.sort()).toEqual(['none', 'not_found'])
})

test('a link works from its mail on, before the end of the send is stored, and is not mailed again once it is used', async () => {
  const accepted = Promise.withResolvers<void>()
  script(world, { dot: { after: accepted.promise, act: '451 4.3.0 try later' } })
  await client().requestPasswordReset({ email: EMAIL })
  const sending = createTestSender(world).sendDue()
  await vi.waitFor(() => expect(world.exchanger.messages).toHaveLength(1), { timeout: 10_000 })
  await client().resetPassword({ token: mailedToken(world, 'reset'), password: NEW })
  accepted.resolve()
  await sending
  expect((await signIn(NEW)).status).toBe(200)
  script(world, {})
  await world.db.update(notices).set({ dueAt: new Date(0) })
  await createTestSender(world).sendDue()
  expect(await world.db.select().from(notices)).toMatchObject([{ state: 'cancelled' }])
  expect(world.exchanger.messages).toEqual([])
})

test('a person is mailed three links an hour at most', async () => {
  for (let i = 0; i < 5; i++) {
    await client().requestPasswordReset({ email: EMAIL })
    await createTestSender(world).sendDue()
  }
  expect(world.exchanger.messages).toHaveLength(3)
})

test('a person who asks often before the first mail is sent gets three links, too', async () => {
  for (let i = 0; i < 5; i++) await client().requestPasswordReset({ email: EMAIL })
  await createTestSender(world).sendDue()
  expect(world.exchanger.messages).toHaveLength(3)
  expect(await world.db.$count(notices, eq(notices.state, 'cancelled'))).toBe(2)
})

test('requests and wrong links are limited like attempts to sign in', async () => {
  const asked = []
  for (let i = 0; i < 11; i++) asked.push(await failure(client().requestPasswordReset({ email: EMAIL })))
  expect(asked).toEqual([...Array(10).fill('none'), 'rate_limit_exceeded'])
  const guesses = []
  for (let i = 0; i < 91; i++) guesses.push(await failure(client().resetPassword({ token: 'x', password: NEW })))
  expect([guesses[0], guesses.at(-1)]).toEqual(['not_found', 'rate_limit_exceeded'])
})

test('an identity that was linked before the address was proven ends with the first proof', async () => {
  const { db } = world
  const linked = { userId: ann, accountId: 'sub', providerId: 'https://issuer.test', password: null }
  await db.insert(credentials).values({ id: newId(0), ...linked })
  await client().resetPassword({ token: await askForLink(), password: NEW })
  expect((await db.select().from(credentials)).map(({ providerId }) => providerId)).toEqual(['credential'])
  await db.insert(credentials).values({ id: newId(0), ...linked })
  await client().resetPassword({ token: await askForLink(), password: OLD })
  expect(await db.$count(credentials)).toBe(2)
})

test.each([
  ['short', 'invalid_payload'],
  ['x'.repeat(129), 'invalid_payload'],
])('a password that does not fit is refused, and the link stays', async (password, reason) => {
  const token = await askForLink()
  expect(await failure(client().resetPassword({ token, password }))).toBe(reason)
  expect(await failure(client().getPasswordReset({ token }))).toBe('none')
})

test('a token that was changed in any character names no reset', async () => {
  const token = await askForLink()
  const links = createLinkTokens(world.sealer, 'reset')
  const others = [...token].map(
    (character, i) => token.slice(0, i) + (character === 'A' ? 'B' : 'A') + token.slice(i + 1),
  )
  expect(others.map((other) => links.read(other)).filter((id) => id !== undefined)).toEqual([])
  expect(createLinkTokens(world.sealer, 'invitation').read(token)).toBeUndefined()
  expect(links.read(token)).toBe((await world.db.select().from(notices).where(eq(notices.personId, ann)))[0]!.id)
})

test('an installation without NOTIFY_FROM says so, and asks for no address', async () => {
  const { notifyFrom: _, ...parts } = { ...world, notifyFrom: '' }
  const without = await startDashboard({
    ...world,
    openServices: (own) => [
      createServiceImplSpec<typeof SignInService>(SignInService, createSignInService({ ...parts, ...own })),
    ],
  })
  const transport = createConnectTransport({ baseUrl: without.url, httpVersion: '1.1' })
  const caller = createClient(SignInService, transport)
  expect(await caller.getSignInMethods({})).toMatchObject({ passwordReset: false })
  expect(await failure(caller.requestPasswordReset({ email: EMAIL }))).toBe('wrong_state')
  expect(await client().getSignInMethods({})).toMatchObject({ passwordReset: true })
})
