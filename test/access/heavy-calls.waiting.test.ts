import { setImmediate } from 'node:timers/promises'
import {
  type ConnectError,
  createClient,
  createContextValues,
  type Interceptor,
  type UnaryRequest,
  type UnaryResponse,
} from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node'
import postgres from 'postgres'
import { afterAll, expect, test } from 'vitest'
import { OverviewService } from '../../gen/verdict/admin/v1/overview_pb.ts'
import { ReplayService } from '../../gen/verdict/admin/v1/replays_pb.ts'
import { EventService } from '../../gen/verdict/v1/events_pb.ts'
import { Granularity } from '../../gen/verdict/v1/stats_pb.ts'
import { createKey } from '../../server/access/api-keys.ts'
import { createHeavyCallLimit } from '../../server/access/heavy-calls.ts'
import { callerKey, callerOf } from '../../server/caller.ts'
import { eq } from '../../server/db/drizzle.ts'
import { sessions } from '../../server/db/people-schema.ts'
import { createAccount } from '../../server/directory/accounts.ts'
import { reasonOf } from '../../server/errors.ts'
import { countWaiting } from '../harness/lock-queue.ts'
import { signIn } from '../harness/person.ts'
import { outlast } from '../harness/waits.ts'
import { startApi } from '../services/api.ts'

// Four heavy reads of an account run at a time in a process. Others wait for a moment.

const api = await startApi()
/** Beside the connections of the API, which its calls may all hold. */
const sql = postgres(api.world.database.url, { max: 2 })
const person = await signIn(api.world, { accountId: api.world.account.id })
afterAll(() => sql.end())

/** Holds every read of a table in the database until `letGo`. */
async function hold(table: string) {
  const held = Promise.withResolvers<void>()
  const locked = Promise.withResolvers<void>()
  const ended = sql.begin(async (tx) => {
    await tx.unsafe(`lock table ${table} in access exclusive mode`)
    locked.resolve()
    await held.promise
  })
  await locked.promise
  return async () => {
    held.resolve()
    await ended
  }
}

const waitingReads = (table = 'events') => countWaiting(sql, `%from%${table}%`)

const withKey: Interceptor = (next) => (request) => {
  request.header.set('authorization', `Bearer ${api.keys.live}`)
  return next(request)
}

/** A read of events in each way that there is. Resolves to `ok`, or to what the error says. */
function everyWay(): (() => Promise<unknown>)[] {
  const options = { baseUrl: api.url, httpVersion: '2' as const, interceptors: [withKey] }
  const byKey = [createGrpcTransport(options), createGrpcWebTransport(options), createConnectTransport(options)]
  const replays = person.client(ReplayService, api.url)
  const events = person.client(EventService, api.url)
  const rpcs = [
    ...byKey.map((transport) => () => createClient(EventService, transport).listEvents({})),
    () => replays.countEvents({ filter: {} }),
    () => events.listEvents({}),
  ]
  return [
    async () => {
      const { status, json, headers } = await api.call('GET', '/api/v1/events')
      if (status === 200) return 'ok'
      const { error, message, retry_after } = json
      return { error, message, retryAfter: headers.get('retry-after'), retry_after }
    },
    ...rpcs.map((call) => () => call().then(() => 'ok', said)),
  ]
}

function said(error: ConnectError) {
  const retryAfter = error.metadata.get('retry-after')
  return { error: reasonOf(error), message: error.rawMessage, retryAfter, retry_after: Number(retryAfter) }
}

const REFUSAL = {
  error: 'rate_limit_exceeded',
  message: 'This account can run 4 calls at a time for lists, counts and statistics. Repeat this call in a second.',
  retryAfter: '1',
  retry_after: 1,
}

test('four reads of an account run, by key and by session, on every protocol; others wait and are then refused', async () => {
  const letGo = await hold('events')
  const ways = everyWay()
  const running = [ways[0]!(), ways[1]!(), ways[4]!(), ways[5]!()]
  expect(await waitingReads()).toBe(4)
  const started = performance.now()
  const waiting = Array.from({ length: 16 }, () => ways.at(-1)!())
  const over = ways.map((way) => way())
  const strange = api.call('GET', '/api/v1/events', { key: api.keys.stranger })
  expect((await api.call('GET', '/api/v1/account')).status).toBe(200)
  const results = await Promise.all([...waiting, ...over])
  expect(performance.now() - started).toBeGreaterThan(1_900)
  expect(results).toEqual(results.map(() => REFUSAL))
  // Four of this account, and the one of the stranger.
  expect(await waitingReads()).toBe(5)
  await letGo()
  expect(await Promise.all(running)).toEqual(['ok', 'ok', 'ok', 'ok'])
  expect((await strange).status).toBe(200)
})

test.each([
  ['a session', { personId: 'p', sessionId: 's', email: 'a@example.com' }, 50, 20],
  ['a key', undefined, 1_100, 1_004],
])('a read with %s over the number of those that may wait is refused at once', async (_, person, calls, served) => {
  const letGo = Promise.withResolvers<void>()
  const run = createHeavyCallLimit()(async () => {
    await letGo.promise
    return {} as UnaryResponse
  })
  const contextValues = createContextValues().set(callerKey, { accountId: 'acc_1', test: false, person })
  const { signal } = new AbortController()
  const request = { method: EventService.method.listEvents, contextValues, signal } as unknown as UnaryRequest
  const results = Array.from({ length: calls }, () => run(request).then(() => 'ok', reasonOf))
  // What is settled after the next turn was decided at once.
  await setImmediate()
  const atOnce = await Promise.all(results.map((result) => Promise.race([result, 'waits'])))
  expect(atOnce.filter((result) => result === 'waits')).toHaveLength(served)
  expect(atOnce.filter((result) => result === 'rate_limit_exceeded')).toHaveLength(calls - served)
  letGo.resolve()
  expect((await Promise.all(results)).filter((result) => result === 'ok')).toHaveLength(served)
})

test('reads of all accounts leave half of the connections to sends, and one with many calls delays another by one', async () => {
  const running: PromiseWithResolvers<void>[] = []
  const started: string[] = []
  const run = createHeavyCallLimit()(async ({ contextValues }) => {
    const work = Promise.withResolvers<void>()
    running.push(work)
    started.push(callerOf({ values: contextValues }).accountId)
    await work.promise
    return {} as UnaryResponse
  })
  const read = (accountId: string) => {
    const contextValues = createContextValues().set(callerKey, { accountId, test: false })
    const { signal } = new AbortController()
    return run({ method: EventService.method.listEvents, contextValues, signal } as unknown as UnaryRequest)
  }
  const busy = ['a', 'b', 'c'].flatMap((account) => Array.from({ length: 20 }, () => read(account)))
  const strange = read('strange')
  await setImmediate()
  expect(started).toEqual(['a', 'a', 'a', 'a', 'b'])
  // Each of three accounts may be served before.
  for (let ended = 0; ended < 4; ended++) {
    running[ended]!.resolve()
    await setImmediate()
    expect(running).toHaveLength(ended + 6)
  }
  expect(started).toContain('strange')
  for (let ended = 4; ended < busy.length + 1; ended++) {
    running[ended]!.resolve()
    await setImmediate()
  }
  await Promise.all([...busy, strange])
})

test('a send goes on while lists of three accounts wait for the database', async () => {
  const { db, clock } = api.world
  const { id } = await createAccount(db, clock, 'Third')
  const { key } = await createKey(db, clock, { accountId: id, name: 'test', kind: 'live', scopes: ['emails.read'] })
  const letGo = await hold('refused_sends')
  const lists = [api.keys.live, api.keys.stranger, key].flatMap((key) =>
    Array.from({ length: 4 }, () => api.call('GET', '/api/v1/refused-sends', { key })),
  )
  expect(await waitingReads('refused_sends')).toBe(5)
  expect((await api.send({ to: 'ann@example.net' })).json.status).toBe('delivered')
  await letGo()
  expect((await Promise.all(lists)).map(({ status }) => status)).toEqual(lists.map(() => 200))
})

test('a read whose caller has left counts until the database has ended its work', async () => {
  const letGo = await hold('events')
  const leaving = new AbortController()
  const headers = { authorization: `Bearer ${api.keys.live}` }
  const left = Array.from({ length: 4 }, () =>
    fetch(`${api.url}/api/v1/events`, { headers, signal: leaving.signal }).catch(() => 'left'),
  )
  expect(await waitingReads()).toBe(4)
  leaving.abort()
  expect(await Promise.all(left)).toEqual(['left', 'left', 'left', 'left'])
  expect(await everyWay().at(-1)!()).toMatchObject({ error: 'rate_limit_exceeded' })
  await letGo()
  expect((await api.call('GET', '/api/v1/events')).status).toBe(200)
})

test('a person who was removed while the start of a replay waited for its turn starts nothing', async () => {
  const { db, account } = api.world
  await api.call('PUT', '/api/v1/webhook', { body: { url: 'https://hooks.example.net/verdict' } })
  const removed = await signIn(api.world, { accountId: account.id, role: 'member' })
  const isTheirs = eq(sessions.id, removed.sessionId)
  await db
    .update(sessions)
    .set({ updatedAt: new Date(0) })
    .where(isTheirs)
  const letGo = await hold('events')
  const first = person.client(ReplayService, api.url).startReplay({ filter: {} })
  expect(await waitingReads()).toBe(1)
  const second = removed
    .client(ReplayService, api.url)
    .startReplay({ filter: { tag: 'welcome' } })
    .then(() => 'ok', said)
  // The gate lets the call in, and extends a session that was not extended for a day.
  await expect
    .poll(async () => (await sql`select updated_at from sessions where id = ${removed.sessionId}`)[0]!.updated_at)
    .not.toEqual(new Date(0))
  await sql`delete from members where person_id = ${removed.personId}`
  // A wait under 100 ms is no wait.
  await outlast(150)
  await letGo()
  expect(await second).toMatchObject({ error: 'not_found' })
  await first
  expect(api.workflows.startedReplays).toHaveLength(1)
})

test('everything that a busy page reads at once is served, several tabs at a time', async () => {
  const [events, overview] = [person.client(EventService, api.url), person.client(OverviewService, api.url)]
  const replays = person.client(ReplayService, api.url)
  const nowSeconds = BigInt(Math.floor(Date.now() / 1_000))
  const range = {
    from: { seconds: nowSeconds - 86_400n },
    to: { seconds: nowSeconds },
    granularity: Granularity.HOUR,
  }
  const tab = () => [
    events.listEvents({}),
    events.listEvents({ limit: 10 }),
    replays.countEvents({ filter: {} }),
    replays.listReplays({}),
    overview.getOverview(range),
    overview.getSetUp({}),
  ]
  await Promise.all([tab(), tab(), tab()].flat())
})
