import { randomBytes } from 'node:crypto'
import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { createGrpcTransport } from '@connectrpc/connect-node'
import postgres from 'postgres'
import { afterEach, expect, test } from 'vitest'
import { EventService, type StreamEventsRequest, type StreamEventsResponse } from '../../gen/verdict/v1/events_pb.ts'
import { DeliveryStatus, type FeedbackKind } from '../../gen/verdict/v1/outcomes_pb.ts'
import { createKey, revokeKey } from '../../server/access/api-keys.ts'
import { SCOPES_OF } from '../../server/access/scopes.ts'
import { createSealer } from '../../server/db/encryption.ts'
import { newId, publicId } from '../../server/db/ids.ts'
import { createAccount } from '../../server/directory/accounts.ts'
import { type Position, parsePosition, showPosition } from '../../server/stream/position.ts'
import { PROTOCOLS, type Protocol, TRANSPORTS } from '../harness/transports.ts'
import { startApi } from '../services/api.ts'

const api = await startApi()

const open: AbortController[] = []
afterEach(() => {
  for (const each of open.splice(0)) each.abort()
})

const positionIn = (text: string, accountId: string) => parsePosition(api.world.sealer, text, accountId) as Position

/** A fresh account with a key and a way to send. */
async function account() {
  const { world } = api
  const { id } = await createAccount(world.db, world.clock, 'Streams')
  const key = await createKey(world.db, world.clock, { accountId: id, name: 'k', kind: 'live', scopes: SCOPES_OF.live })
  return { id, key: key.key, keyId: key.apiKey.id }
}

/** Opens a stream. `next` returns the next message, and `events` the next events. */
function stream(key: string, request: Partial<StreamEventsRequest> = {}, protocol: Protocol = 'gRPC') {
  const transport = TRANSPORTS[protocol]({ baseUrl: api.url, httpVersion: '2' })
  const ended = new AbortController()
  open.push(ended)
  const headers = { authorization: `Bearer ${key}` }
  const messages = createClient(EventService, transport).streamEvents(request, { headers, signal: ended.signal })
  const iterator = messages[Symbol.asyncIterator]()
  const next = async (): Promise<StreamEventsResponse> => (await iterator.next()).value
  async function events(count: number) {
    const found: StreamEventsResponse['events'] = []
    while (found.length < count) found.push(...(await next()).events)
    return found.map(({ event, position }) => ({ ...event!, position }))
  }
  return { next, events, end: () => ended.abort() }
}

const failure = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error) => ConnectError.from(error),
  )

/** Stores an event of an account in the order of the stream, as a send does. Returns its public id. */
async function store(accountId: string, client: Client = api.world.db.$client, atMs = api.world.clock.now()) {
  const id = newId(atMs)
  await client.unsafe(INSERT, [id, newId(atMs), accountId, new Date(atMs).toISOString()])
  return publicId('evt', id)
}

type Client = Pick<postgres.Sql, 'unsafe'>
const INSERT = `
  insert into events (id, message_id, account_id, status, recipient, sandbox, created_at)
  values ($1, $2, $3, 'delivered', 'Ann@example.net', false, $4)`

test.each(PROTOCOLS)(
  'events come over %s as they are committed, after a first message without events',
  async (protocol) => {
    const { id, key } = await account()
    const before = await store(id)
    // Transactions of other tests may still hold it back, and a stream that starts now would begin with it.
    await stream(key, { after: 'begin' }, protocol).events(1)
    const live = stream(key, {}, protocol)
    const first = await live.next()
    expect(first).toMatchObject({ events: [], position: expect.stringMatching(/^[\w-]{20,100}$/) })
    const stored = [await store(id), await store(id)]
    const events = await live.events(2)
    expect(events.map(({ eventId }) => eventId)).toEqual(stored)
    expect(stored).not.toContain(before)
    // Each position resumes after its event.
    const resumed = stream(key, { after: events[0]!.position }, protocol)
    expect((await resumed.events(1)).map(({ eventId }) => eventId)).toEqual([stored[1]])
  },
)

test('a stream from the beginning has the events of sends, once each, with what a list shows of them', async () => {
  const { json } = await api.send({ to: ['delivered@simulator.test', 'mailbox_full@simulator.test'], tag: 'streamed' })
  const listed = await api.call('GET', '/api/v1/events?tag=streamed')
  const events = await stream(api.keys.live, { after: 'begin', tag: 'streamed' }).events(2)
  expect(events.map(({ eventId }) => eventId).sort()).toEqual(
    listed.json.events.map(({ event_id }: { event_id: string }) => event_id).sort(),
  )
  expect(events.every(({ messageId, smtp }) => messageId === json.message_id && smtp !== undefined)).toBe(true)
})

test('an event of an open transaction comes after those that overtook it, and nothing comes before a position', async () => {
  const { id, key } = await account()
  const live = stream(key)
  await live.next()
  const other = postgres(api.world.database.url, { max: 1 })
  const late = Promise.withResolvers<void>()
  const inserted = Promise.withResolvers<string>()
  const transaction = other.begin(async (tx) => {
    inserted.resolve(await store(id, tx))
    await late.promise
  })
  const first = await inserted.promise
  const second = await store(id)
  // It holds the horizon: the second waits.
  const { json } = await api.call('GET', '/api/v1/events/changes?after=begin', { key })
  expect(json.events).toEqual([])
  late.resolve()
  await transaction
  expect((await live.events(2)).map(({ eventId }) => eventId)).toEqual([first, second])
  await other.end()
})

test('an event whose transaction began first and took its id last comes last, although its own id is smaller', async () => {
  const { id, key } = await account()
  const live = stream(key)
  await live.next()
  const early = api.world.clock.now() - 60_000
  const stored = [await store(id), await store(id, undefined, early)]
  const events = await live.events(2)
  expect(events.map(({ eventId }) => eventId)).toEqual(stored)
  const again = await stream(key, { after: events[0]!.position }).events(1)
  expect(again[0]!.eventId).toBe(stored[1])
})

test('many streams of an account get the same events in the same order, wherever each starts', async () => {
  const { id, key } = await account()
  const stored: string[] = []
  const writer = (async () => {
    for (let i = 0; i < 450; i++) stored.push(await store(id))
  })()
  const streams = await Promise.all(
    Array.from({ length: 12 }, async (_, i) => {
      await expect.poll(() => stored.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(i * 30)
      return stream(key, { after: 'begin' }).events(450)
    }),
  )
  await writer
  for (const events of streams) expect(events.map(({ eventId }) => eventId)).toEqual(stored)
})

test('filters choose events, and dry runs come only when asked for', async () => {
  const { json: sent } = await api.send({ tag: 'filtered', tenant_id: 'shop-7' })
  await api.send({ to: 'mailbox_full@simulator.test', tag: 'filtered' })
  const { json: dry } = await api.send({ tag: 'filtered' }, { 'x-service-sandbox': 'true' })
  const found = async (filters: object, count = 1) =>
    (await stream(api.keys.live, { after: 'begin', tag: 'filtered', ...filters }).events(count)).map((e) => e.messageId)
  expect(await found({ tenantId: 'shop-7' })).toEqual([sent.message_id])
  expect(await found({ sandbox: true })).toEqual([dry.message_id])
  expect(await found({ messageId: sent.message_id })).toEqual([sent.message_id])
  expect(await found({ status: DeliveryStatus.BOUNCED })).not.toEqual([sent.message_id])
  expect(await found({ recipient: 'DELIVERED@simulator.test' })).toEqual([sent.message_id])
  expect(await found({}, 2)).toHaveLength(2)
})

test('a position of another account, cut, ahead, expired or of another database is refused with words', async () => {
  const { id, key } = await account()
  await store(id)
  const [event] = await stream(key, { after: 'begin' }).events(1)
  const place = positionIn(event!.position, id)
  const failed = (after: string, by = key) => failure(stream(by, { after }).next())
  const shown = (change: object) => showPosition(api.world.sealer, { ...place, ...change }, id)
  for (const after of [event!.position.slice(0, -1), 'x', '', 'BEFORE_ALL']) {
    const error = await failed(after)
    expect(error).toMatchObject({ code: Code.InvalidArgument, rawMessage: expect.stringContaining('not a position') })
  }
  expect(await failed(event!.position, api.keys.live)).toMatchObject({ code: Code.InvalidArgument })
  expect(await failed(shown({ order: place.order + 1e6 }))).toMatchObject({
    code: Code.InvalidArgument,
    rawMessage: expect.stringContaining('ahead of the database'),
  })
  const lost = showPosition(createSealer([{ id: 'lost', key: randomBytes(32) }]), place, id)
  expect(await failed(lost)).toMatchObject({
    code: Code.NotFound,
    rawMessage: expect.stringContaining('no longer has'),
  })
  const old = newId(api.world.clock.now() - 91 * 86_400_000)
  for (const [change, words] of [
    [{ id: old }, 'older than the 90 days'],
    [{ cluster: '1' }, 'another database'],
    [{ id: newId(api.world.clock.now()) }, 'restored to an earlier time'],
    [{ order: place.order - 1 }, 'restored to an earlier time'],
  ] as const) {
    const error = await failed(shown(change))
    expect(error).toMatchObject({ code: Code.NotFound, rawMessage: expect.stringContaining(words) })
    expect(error!.rawMessage).toContain('Start again at "begin"')
    const { status, json } = await api.call('GET', `/api/v1/events/changes?after=${shown(change)}`, { key })
    expect([status, json.error]).toEqual([410, 'event_expired'])
  }
  // A later timeline than that of the server: it is the old primary.
  expect(await failed(shown({ timeline: 9 }))).toMatchObject({ code: Code.Unavailable })
  // A promotion kept the event.
  expect(await stream(key, { after: shown({ timeline: place.timeline - 1 }) }).next()).toMatchObject({ events: [] })
})

test('a filter with a fault is refused with its name', async () => {
  for (const [filter, field] of [
    [{ recipient: 'x' }, 'recipient'],
    [{ event: 'email.opened' }, 'event'],
    [{ tag: '' }, 'tag'],
    [{ status: 99 as DeliveryStatus }, 'status'],
    [{ feedback: 99 as FeedbackKind }, 'feedback'],
  ] as const) {
    const error = await failure(stream(api.keys.live, filter).next())
    expect(error).toMatchObject({ code: Code.InvalidArgument, rawMessage: expect.stringMatching(`^${field} `) })
  }
})

test('an account has 100 streams, over all processes, and a connection has 50', async () => {
  const { id, key, keyId } = await account()
  await api.world.db.$client`insert into stream_leases values (${id}, ${keyId}, 97, now() + interval '1 minute')`
  const three = [stream(key), stream(key), stream(key)]
  await Promise.all(three.map(({ next }) => next()))
  expect(await failure(stream(key).next())).toMatchObject({ code: Code.ResourceExhausted })
  three[0]!.end()
  await expect.poll(async () => (await failure(stream(key).next())) === undefined, { timeout: 5_000 }).toBe(true)
  // The leases of a process that has ended count no more.
  await api.world.db.$client`update stream_leases set until = now() where process = ${keyId}`
  expect(await failure(stream(key).next())).toBeUndefined()
})

test('a connection has 50 streams', async () => {
  const { key } = await account()
  const transport = createGrpcTransport({ baseUrl: api.url })
  const headers = { authorization: `Bearer ${key}` }
  const ended = new AbortController()
  open.push(ended)
  const one = () =>
    createClient(EventService, transport)
      .streamEvents({}, { headers, signal: ended.signal })
      [Symbol.asyncIterator]()
      .next()
  await Promise.all(Array.from({ length: 50 }, one))
  expect(await failure(one())).toMatchObject({ code: Code.ResourceExhausted })
})

test.each(PROTOCOLS)('a key that is revoked ends its streams over %s within 5 seconds', async (protocol) => {
  const { id, key, keyId } = await account()
  const live = stream(key, {}, protocol)
  await live.next()
  const startMs = performance.now()
  await revokeKey(api.world.db, id, keyId)
  const last = await live.next()
  expect(last.events).toEqual([])
  expect(await failure(live.next())).toMatchObject({ code: Code.Unauthenticated })
  // The promised time.
  expect(performance.now() - startMs).toBeLessThan(5_000)
})

test('a key without the scope gets no stream', async () => {
  const { world } = api
  const { id } = await account()
  const { key } = await createKey(world.db, world.clock, {
    accountId: id,
    name: 'k',
    kind: 'live',
    scopes: ['emails.send'],
  })
  expect(await failure(stream(key).next())).toMatchObject({ code: Code.PermissionDenied })
})

test('a stream tells how many requests are left before its first message, and counts once', async () => {
  const { key } = await account()
  const headers = new Headers()
  const transport = createGrpcTransport({ baseUrl: api.url })
  const ended = new AbortController()
  open.push(ended)
  const messages = createClient(EventService, transport).streamEvents(
    {},
    {
      headers: { authorization: `Bearer ${key}` },
      signal: ended.signal,
      onHeader: (h) => h.forEach((v, k) => void headers.set(k, v)),
    },
  )
  await messages[Symbol.asyncIterator]().next()
  expect(Number(headers.get('x-ratelimit-limit')) - Number(headers.get('x-ratelimit-remaining'))).toBe(1)
})

test('a crash of the database gives no event a place before a position', async () => {
  const { id, key } = await account()
  await store(id)
  const [event] = await stream(key, { after: 'begin' }).events(1)
  // Transaction ids that were given out and never written may be given out again: no position has one.
  const { order } = positionIn(event!.position, id)
  const [row] = await api.world.db.$client`select stream_order::float8 as order from events where account_id = ${id}`
  expect(order).toBe(row!.order)
})

/** Waits for the first events of an account: open transactions of other tests may hold them back. */
const untilReadable = (key: string, count: number) => stream(key, { after: 'begin' }).events(count)

const changes = (query: string, key: string) => api.call('GET', `/api/v1/events/changes?${query}`, { key })

test('REST reads the same events by pages, and says whether there are more', async () => {
  const { id, key } = await account()
  const stored = []
  for (let i = 0; i < 5; i++) stored.push(await store(id))
  await untilReadable(key, 5)
  const found: string[] = []
  let after = 'begin'
  let pages = 0
  for (let hasMore = true; hasMore; pages++) {
    const { json } = await changes(`after=${after}&limit=2`, key)
    found.push(...json.events.map(({ event }: { event: { event_id: string } }) => event.event_id))
    after = json.position
    hasMore = json.has_more
  }
  expect([found, pages]).toEqual([stored, 3])
  expect((await changes(`after=${after}`, key)).json).toEqual({ events: [], position: after, has_more: false })
})

test('REST waits for the first event, and no longer than it was told', async () => {
  const { id, key } = await account()
  const { json } = await changes('', key)
  const startMs = performance.now()
  const waited = changes(`after=${json.position}&wait_s=20`, key)
  const stored = await store(id)
  expect((await waited).json.events[0].event.event_id).toBe(stored)
  // Far less than the 20 s that the call may wait.
  expect(performance.now() - startMs).toBeLessThan(5_000)
  const none = await changes(`after=${(await waited).json.position}&wait_s=1`, key)
  expect(none.json).toMatchObject({ events: [], has_more: false })
  expect((await changes('wait_s=21', key)).json.error).toBe('invalid_payload')
})

test('REST passes events that do not match, and its position goes on after them', async () => {
  const { id, key } = await account()
  for (let i = 0; i < 3; i++) await store(id)
  await untilReadable(key, 3)
  const { json } = await changes('after=begin&tag=none', key)
  expect(json).toMatchObject({ events: [], has_more: false })
  const stored = await store(id)
  const next = await changes(`after=${json.position}&wait_s=20`, key)
  expect(next.json.events.map(({ event }: { event: { event_id: string } }) => event.event_id)).toEqual([stored])
})
