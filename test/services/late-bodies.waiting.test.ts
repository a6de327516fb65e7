import type { DescMethod } from '@bufbuild/protobuf'
import { expect, test } from 'vitest'
import { Access } from '../../gen/verdict/admin/v1/options_pb.ts'
import { createKey, revokeKey } from '../../server/access/api-keys.ts'
import { requiredRole, ruleOf } from '../../server/access/people/access.ts'
import { SCOPES_OF } from '../../server/access/scopes.ts'
import { and, eq } from '../../server/db/drizzle.ts'
import { members, people, sessions } from '../../server/db/people-schema.ts'
import { apiKeys } from '../../server/db/schema.ts'
import { type SignedIn, signIn } from '../harness/person.ts'
import { outlast } from '../harness/waits.ts'
import { startApi } from './api.ts'
import { everyRow } from './every-row.ts'
import { type Held, holdBack, PROTOCOLS, requestsOf, servedMethods } from './held-calls.ts'

// The gate runs at the head of a call, and its body may follow two minutes later. Every method of both contracts, in
// every protocol that serves it, with each way in which its caller loses the right meanwhile.

const api = await startApi()
const methods = await servedMethods(api.url)
/** Those that need a session when no key is sent. */
const ofPeople = methods.filter((method) => ruleOf(method).access !== Access.OPEN)

const isAdmin = ({ parent }: DescMethod) => parent.typeName.startsWith('verdict.admin.')

/** Holds back the body of each call until `lose` has taken the right away. Returns the error codes by call. */
async function lateCodes(calls: [name: string, begin: () => Promise<Held>][], lose: () => Promise<unknown>) {
  const held = await Promise.all(calls.map(async ([name, begin]) => [name, await begin()] as const))
  await lose()
  const before = await everyRow(api.world.db)
  const codes = await Promise.all(held.map(async ([name, { finish }]) => [name, await finish()] as const))
  expect(await everyRow(api.world.db)).toBe(before)
  return Object.fromEntries(codes)
}

const newKey = () => {
  const { db, clock, account } = api.world
  return createKey(db, clock, { accountId: account.id, name: 'late', kind: 'live', scopes: SCOPES_OF.live })
}

const LOST_KEYS: Record<string, (keyId: string) => Promise<unknown>> = {
  'that was revoked': (keyId) => revokeKey(api.world.db, api.world.account.id, keyId),
  'that has expired': (keyId) =>
    api.world.db
      .update(apiKeys)
      .set({ expiresAt: new Date(api.world.clock.now() - 1_000) })
      .where(eq(apiKeys.id, keyId)),
}

for (const [how, lose] of Object.entries(LOST_KEYS)) {
  test(`a key ${how} while the body was on its way is refused by every method, and nothing is done`, async () => {
    const { key, apiKey } = await newKey()
    const headers = { authorization: `Bearer ${key}` }
    const calls = methods
      .filter((method) => !isAdmin(method))
      .flatMap((method) => PROTOCOLS.flatMap((protocol) => requestsOf(method, protocol)))
    expect(calls.length).toBeGreaterThan(100)
    const codes = await lateCodes(
      calls.map((request) => [request.name, () => holdBack(api.url, request, headers)]),
      async () => {
        await lose(apiKey.id)
        // A right that was taken away more than a second before the body had arrived.
        await outlast(1_001)
      },
    )
    expect(codes).toEqual(Object.fromEntries(calls.map(({ name }) => [name, 'invalid_api_key'])))
  })
}

test('a key that is valid passes, however late the body is', async () => {
  const { key } = await newKey()
  const [request] = requestsOf(methods.find(({ name }) => name === 'GetLimits')!, 'gRPC')
  const held = await holdBack(api.url, request!, { authorization: `Bearer ${key}` })
  await outlast(1_001)
  expect(await held.finish()).toBe('ok')
})

const AUTHORITY = ['invalid_session', 'not_found', 'insufficient_role', 'confirmation_required']

interface Loss {
  lose(person: SignedIn): Promise<unknown>
  /** The expected error code; undefined for a method that the person may still call. */
  code(method: DescMethod): string | undefined
}

const needed = (method: DescMethod) => requiredRole(ruleOf(method))
const isMember = ({ personId }: SignedIn) =>
  and(eq(members.personId, personId), eq(members.accountId, api.world.account.id))
const longAgo = () => new Date(api.world.clock.now() - 3_600_000)

const LOSSES: Record<string, Loss> = {
  'whose session was ended': {
    lose: ({ sessionId }) => api.world.db.delete(sessions).where(eq(sessions.id, sessionId)),
    code: () => 'invalid_session',
  },
  'whose session has expired': {
    lose: ({ sessionId }) =>
      api.world.db.update(sessions).set({ expiresAt: longAgo() }).where(eq(sessions.id, sessionId)),
    code: () => 'invalid_session',
  },
  'who was removed and deleted': {
    async lose(person) {
      await api.world.db.delete(members).where(isMember(person))
      await api.world.db.delete(people).where(eq(people.id, person.personId))
    },
    code: () => 'invalid_session',
  },
  'who was removed from the account': {
    lose: (person) => api.world.db.delete(members).where(isMember(person)),
    code: (method) => (needed(method) ? 'not_found' : undefined),
  },
  'who was made a reader': {
    lose: (person) => api.world.db.update(members).set({ role: 'reader' }).where(isMember(person)),
    code: (method) => (['member', 'owner'].includes(needed(method) ?? '') ? 'insufficient_role' : undefined),
  },
  'whose password was entered too long ago': {
    lose: ({ sessionId }) =>
      api.world.db.update(sessions).set({ confirmedAt: longAgo() }).where(eq(sessions.id, sessionId)),
    code: (method) => (ruleOf(method).confirmed ? 'confirmation_required' : undefined),
  },
}

for (const [who, { lose, code }] of Object.entries(LOSSES)) {
  test(`a person ${who} while the body was on its way is refused, and nothing is done`, async () => {
    const { db, clock, sealer, account } = api.world
    const person = await signIn({ db, clock, sealer }, { accountId: account.id })
    const calls = ofPeople.filter((method) => code(method)).flatMap((method) => requestsOf(method, 'Connect'))
    const codes = await lateCodes(
      calls.map((request) => [request.name, () => holdBack(api.url, request, person.headers)]),
      () => lose(person),
    )
    expect(codes).toEqual(Object.fromEntries(calls.map(({ name, method }) => [name, code(method)])))
  })
}

test('a person who may still call a method passes, whatever else was taken away', async () => {
  const { db, clock, sealer, account } = api.world
  const person = await signIn({ db, clock, sealer }, { accountId: account.id })
  const { lose, code } = LOSSES['who was made a reader']!
  const calls = methods
    .filter((method) => needed(method) && !code(method))
    .flatMap((method) => requestsOf(method, 'Connect'))
  expect(calls.length).toBeGreaterThan(10)
  const held = await Promise.all(calls.map((request) => holdBack(api.url, request, person.headers)))
  await lose(person)
  const codes = await Promise.all(held.map(({ finish }) => finish()))
  expect(codes.filter((code) => AUTHORITY.includes(code) && code !== 'not_found')).toEqual([])
})

test('the body of a call of the dashboard has 10 s to arrive', async () => {
  const { db, clock, sealer, account } = api.world
  const person = await signIn({ db, clock, sealer }, { accountId: account.id })
  const invite = methods.find(({ name }) => name === 'InvitePerson')!
  const startedMs = performance.now()
  const held = await holdBack(api.url, requestsOf(invite, 'Connect')[0]!, person.headers)
  expect(await held.refused()).toBe('invalid_payload')
  expect(Math.round((performance.now() - startedMs) / 1_000)).toBeGreaterThanOrEqual(10)
})
