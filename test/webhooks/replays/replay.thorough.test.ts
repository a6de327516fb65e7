import { beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import type { Database } from '../../../server/db/connect.ts'
import { and, asc, eq, getTableColumns, inArray, sql } from '../../../server/db/drizzle.ts'
import { newId, publicId, timeOfId } from '../../../server/db/ids.ts'
import { openDispatches, webhookEndpoints } from '../../../server/db/schema.ts'
import { run } from '../../../server/db/statement.ts'
import { NO_TRACING, passedOn, type Tracing } from '../../../server/telemetry/tracing.ts'
import { findEndpoints } from '../../../server/webhooks/endpoints/endpoints.ts'
import { createReplay } from '../../../server/webhooks/replays/replay.ts'
import { type Api, startApi, uuidOf } from '../../services/api.ts'

// How the API accepts replays. replay-temporal.process.test.ts tests their workflows.

const api = await startApi()
beforeAll(async () => {
  await setEndpoint()
})
beforeEach(() => {
  api.workflows.started.length = 0
  api.errors.length = 0
})

const setEndpoint = (of = api) => of.call('PUT', '/api/v1/webhook', { body: { url: 'http://127.0.0.1:9/hook' } })
const replayEvent = (id: string, key?: string, of = api) => of.call('POST', `/api/v1/events/${id}/replay`, { key })
const replayMessage = (id: string, key?: string) => api.call('POST', `/api/v1/messages/${id}/replay`, { key })

async function sent(change: object = {}, headers?: Record<string, string>) {
  const { message_id } = (await api.send(change, headers)).json
  const { events } = (await api.call('GET', `/api/v1/emails/${message_id}`)).json
  return { messageId: message_id as string, eventIds: events.map((event: { event_id: string }) => event.event_id) }
}

async function dispatchesOf(eventId: string) {
  const { id, messageId, kind, attempt, workflowId, leaseUntil, ...times } = getTableColumns(openDispatches)
  const handedOver = sql<boolean>`${times.handedOverAt} is not null`
  const wholeWindow = sql<boolean>`
    ${times.deadlineAt} - ${times.createdAt} = interval '24 hours' and ${times.dueAt} = ${times.createdAt}`
  return api.world.db
    .select({ id, messageId, kind, attempt, workflowId, leaseUntil, handedOver, wholeWindow })
    .from(openDispatches)
    .where(eq(openDispatches.eventId, uuidOf(eventId)))
    .orderBy(asc(id))
}

/** Replaces what Temporal does with a start, for one test. */
function temporal(start: Api['workflows']['start']): void {
  const usual = api.workflows.start
  api.workflows.start = start
  onTestFinished(() => {
    api.workflows.start = usual
  })
}

test('a replayed event has its own dispatch from attempt 1 on, made by one workflow', async () => {
  const { messageId, eventIds } = await sent()
  const { status, json } = await replayEvent(eventIds[0])
  expect([status, json]).toEqual([
    200,
    {
      replayed: true,
      event_id: eventIds[0],
      message_id: messageId,
      dispatched_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      dispatch_id: expect.stringMatching(/^dsp_[0-9a-z]{26}$/),
      dispatches: [{ dispatch_id: json.dispatch_id, endpoint_id: expect.stringMatching(/^whk_[0-9a-z]{26}$/) }],
    },
  ])
  const [original, replay] = await dispatchesOf(eventIds[0])
  expect(original).toMatchObject({ id: uuidOf(eventIds[0]), kind: 'original', workflowId: null })
  expect(replay).toEqual({
    id: uuidOf(json.dispatch_id),
    messageId: uuidOf(messageId),
    kind: 'replay',
    attempt: 1,
    workflowId: `replay-${eventIds[0]}-${json.dispatch_id.slice(-10)}`,
    leaseUntil: null,
    handedOver: true,
    wholeWindow: true,
  })
  const atMs = Date.parse(json.dispatched_at)
  expect(api.workflows.started).toEqual([
    {
      workflowId: `replay-${eventIds[0]}-${json.dispatch_id.slice(-10)}`,
      accountId: api.world.account.id,
      endpointId: uuidOf(json.dispatches[0].endpoint_id),
      kind: 'replay',
      dispatches: [
        {
          ...{ id: uuidOf(json.dispatch_id), eventId: uuidOf(eventIds[0]), messageId: uuidOf(messageId) },
          deadlineMs: atMs + 86_400_000,
        },
      ],
      endpointHost: '127.0.0.1:9',
      attempt: 1,
      dueMs: atMs,
    },
  ])
  // Two clocks on a busy machine. A first attempt is due at once.
  expect(Math.abs(atMs - api.world.clock.now())).toBeLessThan(10_000)
})

test('all events of a message are replayed in the order of its recipients, by one workflow', async () => {
  const to = ['c', 'a', 'b'].map((label) => `delivered+${label}@simulator.test`)
  const { messageId, eventIds } = await sent({ to })
  const { status, json } = await replayMessage(messageId)
  expect(status).toBe(200)
  expect(json).toMatchObject({ replayed: true, message_id: messageId, count: 3 })
  expect(json.events.map((event: { event_id: string }) => event.event_id)).toEqual(eventIds)
  expect(new Set(json.events.map((event: { dispatched_at: string }) => event.dispatched_at)).size).toBe(1)
  expect(api.workflows.started).toHaveLength(1)
  expect(api.workflows.started[0]).toMatchObject({
    workflowId: `replay-${json.events[0].dispatches[0].endpoint_id}-${eventIds[0]}-${json.events[0].dispatch_id.slice(-10)}`,
    dispatches: eventIds.map((id: string) => ({ eventId: uuidOf(id), messageId: uuidOf(messageId) })),
  })
})

test('an event whose only endpoint was deleted a moment ago does not count as replayed', async () => {
  const { db, clock, account } = api.world
  const { messageId, eventIds } = await sent({ to: ['ann@example.net', 'bob@example.net'] })
  const [endpoint] = await findEndpoints(db, account.id)
  const events = eventIds.map((id: string, i: number) => {
    return { id: uuidOf(id), messageId: uuidOf(messageId), endpointIds: [i === 0 ? endpoint!.id : newId(0)] }
  })
  const replay = createReplay({ db, clock, workflows: api.workflows, report: () => {} })
  expect((await replay(account.id, events)).map(({ eventId }) => eventId)).toEqual([uuidOf(eventIds[0])])
})

test('a replay to endpoints that are all gone is a 409; one whose rows are not stored is unknown', async () => {
  const { db, clock, account } = api.world
  const replay = createReplay({ db, clock, workflows: api.workflows, report: () => {} })
  const event = { id: newId(0), messageId: newId(0), endpointIds: [newId(0)] }
  await expect(replay(account.id, [event])).rejects.toThrow('This account has no webhook endpoint')
  const broken = { ...event, id: 'no uuid' }
  await expect(replay(account.id, [broken])).rejects.toThrow('It is not known whether the replay was accepted.')
  expect(api.workflows.started).toEqual([])
})

test('events that go to several endpoints have their dispatches in the order of those', async () => {
  const { db, clock, account } = api.world
  const [first] = await findEndpoints(db, account.id)
  const second = newId(clock.now())
  const row = { id: second, accountId: account.id, url: 'http://127.0.0.1:9/second', secret: Buffer.of() }
  await db.insert(webhookEndpoints).values(row)
  onTestFinished(async () => void (await db.delete(webhookEndpoints).where(eq(webhookEndpoints.id, second))))
  const endpointIds = [second, first!.id]
  const events = Array.from({ length: 3 }, () => ({
    id: newId(clock.now()),
    messageId: newId(clock.now()),
    endpointIds,
  }))
  const replay = createReplay({ db, clock, workflows: api.workflows, report: () => {} })
  const receipts = await replay(account.id, events)
  expect(receipts.map(({ eventId, messageId, dispatches }) => [eventId, messageId, dispatches])).toEqual(
    events.map(({ id, messageId }) => [
      ...[id, messageId],
      endpointIds.map((endpointId) => ({ endpointId, dispatchId: expect.any(String) })),
    ]),
  )
  const ids = receipts.flatMap(({ dispatches }) => dispatches.map(({ dispatchId }) => dispatchId))
  expect(new Set(ids).size).toBe(6)
  expect(await db.select().from(openDispatches).where(inArray(openDispatches.id, ids))).toHaveLength(6)
})

test('a replay begins a trace for each workflow, linked to the call', async () => {
  const { db, clock, account } = api.world
  const { messageId, eventIds } = await sent()
  const [endpoint] = await findEndpoints(db, account.id)
  const call = passedOn(`00-${'a'.repeat(32)}-${'1'.repeat(16)}-01`)
  const begun: object[] = []
  const begin: Tracing['begin'] = (name, beginning) => {
    begun.push({ name, ...beginning })
    return { ...passedOn(`00-${'b'.repeat(32)}-${'2'.repeat(16)}-01`), end: () => void begun.push({ end: name }) }
  }
  const tracing = { ...NO_TRACING, begin }
  const replay = createReplay({ db, clock, tracing, workflows: api.workflows, report: () => {} })
  const event = { id: uuidOf(eventIds[0]), messageId: uuidOf(messageId), endpointIds: [endpoint!.id] }
  await replay(account.id, [event], call)
  expect(begun).toEqual([{ name: 'replay', kind: 'internal', link: call.traceparent }, { end: 'replay' }])
  expect(api.workflows.started).toMatchObject([{ traceparent: `00-${'b'.repeat(32)}-${'2'.repeat(16)}-01` }])
})

test('the event of a dry run is replayed like any other', async () => {
  const { messageId, eventIds } = await sent({}, { 'x-service-sandbox': 'true' })
  expect(await dispatchesOf(eventIds[0])).toEqual([])
  expect((await replayEvent(eventIds[0])).status).toBe(200)
  expect((await replayMessage(messageId)).json.count).toBe(1)
  expect(await dispatchesOf(eventIds[0])).toHaveLength(2)
})

test('each replay has its own dispatch', async () => {
  const { eventIds } = await sent()
  const answers = await Promise.all(Array.from({ length: 5 }, () => replayEvent(eventIds[0])))
  expect(new Set(answers.map(({ json }) => json.dispatch_id)).size).toBe(5)
  expect(await dispatchesOf(eventIds[0])).toHaveLength(6)
  expect(api.workflows.started).toHaveLength(5)
})

test('an unknown event, one of another account and an invalid id are 404', async () => {
  const { messageId, eventIds } = await sent()
  await api.call('PUT', '/api/v1/webhook', { key: api.keys.stranger, body: { url: 'http://127.0.0.1:9/other' } })
  for (const id of [publicId('evt', newId(Date.now())), messageId, 'nonsense', '%20']) {
    const { status, json } = await replayEvent(id)
    expect([id, status, json.error]).toEqual([id, 404, 'not_found'])
  }
  for (const id of [publicId('msg', newId(Date.now())), eventIds[0], 'nonsense']) {
    expect([id, (await replayMessage(id)).status]).toEqual([id, 404])
  }
  expect((await replayEvent(eventIds[0], api.keys.stranger)).status).toBe(404)
  expect((await replayMessage(messageId, api.keys.stranger)).status).toBe(404)
  expect(api.workflows.started).toEqual([])
})

test('a replay without an endpoint is a 409 that says how to set one', async () => {
  const { messageId, eventIds } = await sent()
  await api.call('DELETE', '/api/v1/webhook')
  onTestFinished(() => void setEndpoint())
  for (const { status, json } of [await replayEvent(eventIds[0]), await replayMessage(messageId)]) {
    expect([status, json.error]).toEqual([409, 'webhook_not_configured'])
    expect(json.message).toContain('PUT /api/v1/webhook')
  }
  expect(await dispatchesOf(eventIds[0])).toEqual([])
})

test('on day 89 an event is replayable, on day 91 it is a 410 for every caller', async () => {
  let days = 0
  const later = await startApi(() => Date.now() + days * 86_400_000)
  await setEndpoint(later)
  const { message_id } = (await later.send()).json
  const event_id = (await later.call('GET', '/api/v1/events')).json.events[0].event_id
  days = 89
  expect((await replayEvent(event_id, undefined, later)).status).toBe(200)
  days = 91
  const unknown = publicId('evt', newId(timeOfId(uuidOf(event_id))))
  for (const id of [event_id, unknown]) {
    for (const key of [later.keys.live, later.keys.stranger]) {
      const { status, json } = await replayEvent(id, key, later)
      expect([status, json.error]).toEqual([410, 'event_expired'])
      expect((await later.call('GET', `/api/v1/events/${id}`, { key })).status).toBe(410)
    }
  }
  expect((await later.call('POST', `/api/v1/messages/${message_id}/replay`)).json.error).toBe('event_expired')
})

test('a replay whose workflow cannot be started is a 500 and leaves nothing behind', async () => {
  const { messageId } = await sent({ to: ['delivered@simulator.test', 'delivered+2@simulator.test'] })
  temporal(() => Promise.reject(new Error('PERMISSION_DENIED')))
  const { status, json } = await replayMessage(messageId)
  expect([status, json.error]).toEqual([500, 'transient_failure'])
  expect(json.message).toBe('The replay could not be started in Temporal. Nothing was dispatched; it is safe to retry.')
  const reports = api.errors.filter((error) => error.startsWith('a replay'))
  expect(reports).toEqual(['a replay could not be started: PERMISSION_DENIED'])
  const isReplay = and(eq(openDispatches.messageId, uuidOf(messageId)), eq(openDispatches.kind, 'replay'))
  expect(await api.world.db.$count(openDispatches, isReplay)).toBe(0)
})

test.each([
  ['an attempt has started', (db: Database) => db.update(openDispatches).set({ startedAt: sql`now()` })],
  ['an attempt has ended', (db: Database) => db.update(openDispatches).set({ attempt: 2 })],
  ['the hand-over loop has started it', (db: Database) => db.update(openDispatches).set({ handedOverAt: sql`now()` })],
  ['it is acknowledged', (db: Database) => db.delete(openDispatches)],
])('a replay whose start seems to fail is accepted when %s', async (_, change) => {
  const { messageId } = await sent({ to: ['delivered@simulator.test', 'delivered+2@simulator.test'] })
  temporal(async ({ workflowId }) => {
    await change(api.world.db).where(eq(openDispatches.workflowId, workflowId))
    throw new Error('DEADLINE_EXCEEDED')
  })
  const { status, json } = await replayMessage(messageId)
  expect([status, json.count]).toEqual([200, 2])
})

test('one started dispatch of a message keeps them all', async () => {
  const { messageId, eventIds } = await sent({ to: ['delivered@simulator.test', 'delivered+2@simulator.test'] })
  temporal(async ({ dispatches }) => {
    const startedAt = sql`now()`
    await api.world.db.update(openDispatches).set({ startedAt }).where(eq(openDispatches.id, dispatches[1]!.id))
    throw new Error('UNAVAILABLE')
  })
  expect((await replayMessage(messageId)).status).toBe(200)
  for (const id of eventIds) expect(await dispatchesOf(id)).toHaveLength(2)
})

const CANCEL_WAITING = `
  select pg_cancel_backend(pid) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`

test('when it is unknown whether a replay was accepted, the response says so', async () => {
  const { eventIds } = await sent()
  const refused = Promise.withResolvers<void>()
  let holding: Promise<unknown> | undefined
  temporal(async ({ workflowId }) => {
    const locked = Promise.withResolvers<void>()
    holding = api.world.db.transaction(async (tx) => {
      await tx.select().from(openDispatches).where(eq(openDispatches.workflowId, workflowId)).for('update')
      locked.resolve()
      await refused.promise
    })
    await locked.promise
    throw new Error('UNAVAILABLE')
  })
  const answer = replayEvent(eventIds[0])
  // The statement that waits for the row fails: nothing was withdrawn.
  await expect.poll(async () => (await run(api.world.db, CANCEL_WAITING)).count).toBe(1)
  refused.resolve()
  await holding
  const { status, json } = await answer
  expect([status, json.error]).toEqual([500, 'transient_failure'])
  expect(json.message).toContain('It is not known whether the replay was accepted')
  expect(await dispatchesOf(eventIds[0])).toHaveLength(2)
})
