import { once } from 'node:events'
import { createServer, connect as dial, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { freePort } from '../../dev/ports.ts'
import { RetryInfoSchema } from '../../gen/google/rpc/error_details_pb.ts'
import { DomainService } from '../../gen/verdict/v1/domains_pb.ts'
import { EmailService } from '../../gen/verdict/v1/emails_pb.ts'
import { EventService } from '../../gen/verdict/v1/events_pb.ts'
import { LimitsService } from '../../gen/verdict/v1/limits_pb.ts'
import { StatsService } from '../../gen/verdict/v1/stats_pb.ts'
import { SuppressionService } from '../../gen/verdict/v1/suppression_pb.ts'
import { WebhookService } from '../../gen/verdict/v1/webhooks_pb.ts'
import { makeKey } from '../../server/access/api-key.ts'
import { createKey, listKeys, revokeKey } from '../../server/access/api-keys.ts'
import { createKeyGate } from '../../server/access/key-gate.ts'
import { SCOPES, SCOPES_OF, scopeOf } from '../../server/access/scopes.ts'
import type { GatedCall, Rate } from '../../server/caller.ts'
import { DEFAULT_LIMITS } from '../../server/config/limits.ts'
import type { DatabaseClock } from '../../server/db/clock.ts'
import { connect, type Database } from '../../server/db/connect.ts'
import { eq } from '../../server/db/drizzle.ts'
import { accounts, apiKeys } from '../../server/db/schema.ts'
import { createAccount } from '../../server/directory/accounts.ts'
import { reasonOf } from '../../server/errors.ts'
import { testAccount } from '../harness/account.ts'
import { countWaiting } from '../harness/lock-queue.ts'
import { stopwatch } from '../harness/stopwatch.ts'
import { outlast, pauseFor, quietFor } from '../harness/waits.ts'

const account = await testAccount()
const { db, clock, accountId } = account

const Send = EmailService.method.send
const ListEvents = EventService.method.listEvents

const newKey = (more: { accountId?: string; kind?: 'live' | 'test'; scopes?: string[]; expiresAt?: Date } = {}) =>
  createKey(db, clock, { accountId, name: 'a key', kind: 'live', scopes: ['emails.send'], ...more })

const gateOf = (parts: { db: Database; clock: DatabaseClock }) => createKeyGate({ ...parts, limits: DEFAULT_LIMITS })

const calling = (method: GatedCall['method'], authorization: string | null): GatedCall => ({
  method,
  authorization,
  remoteAddress: '192.0.2.1',
  tellRate() {},
})

const call = (key: string | null, method: GatedCall['method'] = Send) =>
  calling(method, key === null ? null : `Bearer ${key}`)

/** The reason and the message of a refusal. */
async function refusal(admitted: Promise<unknown>): Promise<string> {
  const error = await admitted.then(
    () => new Error('was admitted'),
    (error) => error,
  )
  return `${reasonOf(error)}: ${error.rawMessage}`
}

test('a key identifies the caller', async () => {
  const live = await newKey()
  const dry = await newKey({ kind: 'test' })
  const gate = gateOf({ db, clock })
  expect(await gate(call(live.key))).toEqual({ accountId, keyId: live.apiKey.id, test: false, scopes: expect.any(Set) })
  expect(await gate(call(dry.key))).toEqual({ accountId, keyId: dry.apiKey.id, test: true, scopes: expect.any(Set) })
  expect(await gate(calling(undefined, `bearer  ${live.key}`))).toMatchObject({ accountId })
})

test.each([
  ['no header', null, 'The Authorization header is missing. Send "Authorization: Bearer <API key>".'],
  ['an empty header', '', 'The Authorization header is missing. Send "Authorization: Bearer <API key>".'],
  ['a scheme alone', 'Bearer', 'The Authorization header must read "Bearer <API key>".'],
  ['another scheme', 'Basic dXNlcjpwYXNz', 'The Authorization header must read "Bearer <API key>".'],
  ['a key alone', makeKey('live'), 'The Authorization header must read "Bearer <API key>".'],
  [
    'two keys',
    `Bearer ${makeKey('live')} ${makeKey('live')}`,
    'The Authorization header must read "Bearer <API key>".',
  ],
  [
    'a cut key',
    `Bearer ${makeKey('live').slice(0, -1)}`,
    'This is not an API key. One is "svc_live_" or "svc_test_" and 49 characters: check that it is whole.',
  ],
  [
    'a mistyped key',
    `Bearer ${makeKey('live').replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'))}`,
    'This API key is mistyped: its checksum is wrong. Check that it is copied exactly.',
  ],
  ['an unknown key', `Bearer ${makeKey('live')}`, 'This API key does not exist, was revoked or has expired.'],
])('%s is refused', async (_, authorization, message) => {
  const gate = gateOf({ db, clock })
  expect(await refusal(gate(calling(Send, authorization)))).toBe(`invalid_api_key: ${message}`)
})

test('a text that is not a key is refused without the database', async () => {
  const nowhere = connect('postgres://verdict:x@127.0.0.1:1/verdict')
  const gate = gateOf({ db: nowhere, clock })
  expect(await refusal(gate(call('svc_live_0000')))).toContain('invalid_api_key')
  expect(await refusal(gate(call('x'.repeat(1_000_000))))).toContain('invalid_api_key')
  await nowhere.$client.end()
})

test('a key without the scope of the method is refused, and the error names the scope', async () => {
  const { key } = await newKey({ scopes: ['emails.send', 'emails.read'] })
  const gate = gateOf({ db, clock })
  expect(await refusal(gate(call(key, ListEvents)))).toBe(
    'insufficient_scope: This API key lacks the scope "events.read". Use a key that has it.',
  )
  expect(await gate(call(key, EmailService.method.getEmail))).toMatchObject({ accountId })
})

test('a test key sends and reads whatever scopes it is stored with, and the error says why it does nothing else', async () => {
  const { key, apiKey } = await newKey({ kind: 'test', scopes: [...SCOPES_OF.test] })
  // Older test keys may be stored with more scopes.
  await db
    .update(apiKeys)
    .set({ scopes: [...SCOPES] })
    .where(eq(apiKeys.id, apiKey.id))
  const gate = gateOf({ db, clock })
  const methods = [EmailService, EventService, WebhookService, DomainService, StatsService, SuppressionService]
  for (const method of [...methods, LimitsService].flatMap(({ methods }) => methods)) {
    const scope = scopeOf(method)
    if (scope === 'any' || scope === 'emails.send' || scope.endsWith('.read'))
      expect(await gate(call(key, method))).toMatchObject({ test: true })
    else
      expect(await refusal(gate(call(key, method)))).toBe(
        `insufficient_scope: This API key lacks the scope "${scope}". ` +
          'Test keys cannot have it: they change nothing that live mail depends on. Use a live key that has it.',
      )
  }
  const listed = (await listKeys(db, accountId)).find(({ id }) => id === apiKey.id)
  expect(listed!.scopes).toEqual(SCOPES_OF.test)
})

test('a revoked key gets the same error as an unknown one', async () => {
  const { key, apiKey } = await newKey()
  await revokeKey(db, accountId, apiKey.id)
  const gate = gateOf({ db, clock })
  expect(await refusal(gate(call(key)))).toBe(await refusal(gate(call(makeKey('live')))))
})

test('a key expires at its exact time by the clock of the database, also in the cache', async () => {
  const expiresAt = new Date(Math.floor(clock.now()) + 60_000)
  const { key } = await newKey({ expiresAt })
  let now = expiresAt.getTime() - 1
  const gate = gateOf({ db, clock: { now: () => now, stop() {} } })
  expect(await gate(call(key))).toMatchObject({ accountId })
  now += 1
  expect(await refusal(gate(call(key)))).toBe(
    'invalid_api_key: This API key does not exist, was revoked or has expired.',
  )
})

test('a thousand first calls with one key cost one query, and the next calls none', async () => {
  const { key } = await newKey()
  const gate = gateOf({ db, clock })
  const locker = connect(account.url, { connections: 1 })
  await locker.$client`select 1`
  const lock = await locker.$client.reserve()
  await lock`begin`
  await lock`lock table api_keys in access exclusive mode`
  const calls = Promise.all(Array.from({ length: 1000 }, () => gate(call(key))))
  const count = await countWaiting(lock, 'select%api_keys%')
  await lock`commit`
  await calls
  expect(count).toBe(1)

  await lock`begin`
  await lock`lock table api_keys in access exclusive mode`
  for (let i = 0; i < 1000; i++) await gate(call(key))
  await lock`commit`
  lock.release()
  await locker.$client.end()
})

test('every request with a valid key counts, including those refused for their scope', async () => {
  const own = await createAccount(db, clock, 'Counted')
  const { key } = await newKey({ accountId: own.id })
  const other = await newKey({ accountId: own.id, kind: 'test' })
  const gate = createKeyGate({ db, clock, limits: { ...DEFAULT_LIMITS, defaultTier: 'free' } })
  const rates: Rate[] = []
  const asks = (key: string, method = Send as GatedCall['method']) =>
    gate({ ...call(key, method), tellRate: (rate) => void rates.push(rate) })
  await asks(key)
  await asks(other.key)
  expect(await refusal(asks(key, ListEvents))).toContain('insufficient_scope')
  expect(rates.map(({ limit, remaining }) => `${remaining} of ${limit}`)).toEqual(['59 of 60', '58 of 60', '57 of 60'])
  await Promise.all(Array.from({ length: 57 }, () => asks(key)))
  const error = await asks(key).catch((error) => error)
  expect(error.rawMessage).toMatch(/^The 60 requests per minute of this account are used up\. Wait \d+ seconds\.$/)
  const [retry] = error.findDetails(RetryInfoSchema)
  expect(Number(retry.retryDelay.seconds)).toBeGreaterThan(50)
  expect(error.metadata.get('retry-after')).toBe(String(retry.retryDelay.seconds))
  expect(rates.at(-1)).toMatchObject({ limit: 60, remaining: 0 })
})

test('where no key is needed, a caller without one counts by address; a key that is sent counts and must be valid', async () => {
  const own = await createAccount(db, clock, 'Visitor')
  const { key } = await newKey({ accountId: own.id })
  const gate = createKeyGate({ db, clock, limits: { ...DEFAULT_LIMITS, defaultTier: 'free' } })
  const rates: Rate[] = []
  const visit = (key: string | null) =>
    gate({ ...call(key, undefined), keyOptional: true, tellRate: (rate) => void rates.push(rate) })
  expect(await visit(null)).toBeUndefined()
  expect(await visit(key)).toMatchObject({ accountId: own.id })
  expect(await visit(null)).toBeUndefined()
  expect(rates.map(({ limit, remaining }) => `${remaining} of ${limit}`)).toEqual([
    '599 of 600',
    '59 of 60',
    '598 of 600',
  ])
  expect(rates[0]!.resetAt).toBeGreaterThan(clock.now() / 1_000)
  expect(await refusal(visit(makeKey('live')))).toContain('invalid_api_key')
  await Promise.all(Array.from({ length: 597 }, () => visit(null)))
  expect(await refusal(visit(null))).toContain(
    'rate_limit_exceeded: The 600 requests per minute without a valid API key',
  )
  expect(await visit(key)).toMatchObject({ accountId: own.id })
})

test('the tier of an account decides, and an unknown tier means the default', async () => {
  const limitOf = async (tier: string | null) => {
    const own = await createAccount(db, clock, 'Tier')
    await db.update(accounts).set({ tier }).where(eq(accounts.id, own.id))
    const { key } = await newKey({ accountId: own.id })
    const rates: Rate[] = []
    await gateOf({ db, clock })({ ...call(key), tellRate: (rate) => void rates.push(rate) })
    return rates[0]!.limit
  }
  expect(await Promise.all(['free', 'pro', 'scale', 'unlimited', null, 'constructor'].map(limitOf))).toEqual([
    60, 600, 6_000, 1_000_000, 1_000_000, 1_000_000,
  ])
})

test('a flood of invented keys from one address is refused without a query, and keys in use pass', async () => {
  const { key } = await newKey()
  const { key: fresh } = await newKey()
  let queries = 0
  const counting = new Proxy(db, {
    get(target, name) {
      if (name === 'select') queries++
      return Reflect.get(target, name)
    },
  })
  const gate = gateOf({ db: counting, clock })
  await gate(call(key))
  queries = 0
  const answers: string[] = []
  for (let round = 0; round < 20; round++) {
    answers.push(...(await Promise.all(Array.from({ length: 100 }, () => refusal(gate(call(makeKey('live'))))))))
  }
  expect(answers.filter((answer) => answer.startsWith('invalid_api_key'))).toHaveLength(600)
  expect(answers.filter((answer) => answer.startsWith('rate_limit_exceeded'))).toHaveLength(1_400)
  expect(queries).toBe(600)
  expect(answers.at(-1)).toMatch(
    /The 600 requests per minute without a valid API key are used up\. Wait \d+ seconds\.$/,
  )
  expect(await refusal(gate(call(null)))).toContain('rate_limit_exceeded')
  // A key in use passes. A key that is new to this process passes from another address, or a minute later.
  expect(await gate(call(key))).toMatchObject({ accountId })
  expect(await refusal(gate(call(fresh)))).toContain('rate_limit_exceeded')
  expect(await gate({ ...call(fresh), remoteAddress: '192.0.2.2' })).toMatchObject({ accountId })
  expect(await gate(call(fresh))).toMatchObject({ accountId })

  const rates: Rate[] = []
  await gate({ ...call(null), tellRate: (rate) => void rates.push(rate) }).catch(() => {})
  const [{ limit, remaining, resetAt }] = rates as [Rate]
  expect([limit, remaining]).toEqual([600, 0])
  expect(resetAt).toBeGreaterThan(clock.now() / 1_000)
  expect(resetAt).toBeLessThanOrEqual(clock.now() / 1_000 + 61)
})

test('a thousand concurrent requests with a key that is new to the process are not a flood', async () => {
  const { key } = await newKey()
  const gate = gateOf({ db, clock })
  const callers = await Promise.all(Array.from({ length: 1_000 }, () => gate(call(key))))
  expect(callers.every((caller) => caller?.accountId === accountId)).toBe(true)
})

test.concurrent('a revocation takes effect within 5 s under steady use', async ({ expect }) => {
  const { key, apiKey } = await newKey()
  const gate = gateOf({ db, clock })
  await gate(call(key))
  await revokeKey(db, accountId, apiKey.id)
  const watch = stopwatch()
  const refused = async () => (await refusal(gate(call(key)))).startsWith('invalid_api_key')
  while (!(await refused())) {
    // The promised time.
    expect(watch.ms()).toBeLessThan(5000)
    await pauseFor(10)
  }
})

test.concurrent('a key that was tried before it existed works within 2 s of its creation', async ({ expect }) => {
  const { key, apiKey } = await newKey()
  const [row] = await db.delete(apiKeys).where(eq(apiKeys.id, apiKey.id)).returning()
  const gate = gateOf({ db, clock })
  expect(await refusal(gate(call(key)))).toContain('invalid_api_key')
  await db.insert(apiKeys).values(row!)
  await outlast(1500)
  expect(await gate(call(key))).toMatchObject({ keyId: apiKey.id })
})

test.concurrent('without the database every key gets transient_failure, and keys work again when the database is back', async ({
  expect,
}) => {
  const own = await createAccount(db, clock, 'Own')
  const { key } = await newKey({ accountId: own.id })
  const { key: unused } = await newKey()
  const proxy = await proxyOf(account.url)
  const proxied = connect(proxy.url)
  const gate = createKeyGate({ db: proxied, clock, limits: { ...DEFAULT_LIMITS, defaultTier: 'free' } })
  await gate(call(key))
  proxy.cut()
  expect(await refusal(gate(call(key)))).toBe(
    'transient_failure: The request could not be counted. It is safe to retry.',
  )
  expect(await refusal(gate(call(unused)))).toBe(
    'transient_failure: The API key could not be checked. It is safe to retry.',
  )
  await proxy.mend()
  await expect.poll(() => gate(call(key)).catch(() => undefined)).toMatchObject({ accountId: own.id })
  await proxied.$client.end({ timeout: 1 })
  proxy.cut()
})

test.concurrent('the last use of a key is stored at most once a minute, and no call waits for it', async ({
  expect,
}) => {
  const { apiKey, key } = await newKey()
  const lastUse = async () => (await listKeys(db, accountId)).find(({ id }) => id === apiKey.id)!.lastUsedAt?.getTime()
  const start = clock.now()
  let now = start
  const gate = gateOf({ db, clock: { now: () => now, stop() {} } })
  await gate(call(key))
  expect(await lastUse()).toBeUndefined()
  await expect.poll(lastUse).toBe(Math.floor(start))
  now = start + 59_000
  await gate(call(key))
  // Another process has not seen the first use.
  await db
    .update(apiKeys)
    .set({ lastUsedAt: new Date(start) })
    .where(eq(apiKeys.id, apiKey.id))
  await quietFor(1500)
  expect(await lastUse()).toBe(Math.floor(start))
  now = start + 61_000
  await gate(call(key))
  await expect.poll(lastUse).toBe(Math.floor(start + 61_000))
})

/** A TCP proxy in front of PostgreSQL that can be cut and mended. */
async function proxyOf(url: string) {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = dial(Number(target.port || 5432), target.hostname)
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket)
      socket.pipe(other)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
    }
  })
  // No other listener gets this port between `cut` and `mend`.
  const port = await freePort()
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const own = new URL(url)
  own.host = `127.0.0.1:${port}`
  return {
    url: own.href,
    cut() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
    async mend() {
      server.listen(port, '127.0.0.1')
      await once(server, 'listening')
    },
  }
}
