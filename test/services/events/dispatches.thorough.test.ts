import type { PgUpdateSetSource } from 'drizzle-orm/pg-core'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { AttemptOutcome, DispatchKind, DispatchState, EventService } from '../../../gen/verdict/v1/events_pb.ts'
import { createKey } from '../../../server/access/api-keys.ts'
import { eq, sql } from '../../../server/db/drizzle.ts'
import { newId, publicId } from '../../../server/db/ids.ts'
import {
  attempts as attemptRows,
  dispatches as dispatchRows,
  events,
  openDispatches,
} from '../../../server/db/schema.ts'
import { finishDispatches } from '../../../server/webhooks/attempt/end.ts'
import { type Receiver, startReceiver } from '../../harness/receiver.ts'
import { RETENTION_MS, startApi, uuidOf } from '../api.ts'

// The dispatches and attempts of an event, as the API shows them. Attempts are real POSTs; the tests make them one by
// one, as a workflow would.

let receiver: Receiver
const api = await startApi()
receiver = await startReceiver()
const endpointId = (await api.call('PUT', '/api/v1/webhook', { body: { url: receiver.url } })).json.endpoint_id
afterAll(() => receiver.close())
beforeEach(() => {
  receiver.script = {}
  receiver.requests.length = 0
})

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
/** The UUID of a public id of any kind. */
/** The original dispatch of an event has the event's UUID. */
const originalOf = (eventId: string) => publicId('dsp', uuidOf(eventId))
const updateOriginal = (eventId: string, columns: PgUpdateSetSource<typeof openDispatches>) =>
  api.world.db
    .update(openDispatches)
    .set(columns)
    .where(eq(openDispatches.id, uuidOf(eventId)))

async function newEvent(headers?: Record<string, string>): Promise<string> {
  const { message_id } = (await api.send({}, headers)).json
  return (await api.call('GET', `/api/v1/events?message_id=${message_id}`)).json.events[0].event_id
}

const detail = async (id: string) => (await api.call('GET', `/api/v1/events/${id}`)).json
const listed = async (id: string) =>
  (await api.call('GET', '/api/v1/events')).json.events.find((event: { event_id: string }) => event.event_id === id)
const replay = async (id: string) => (await api.call('POST', `/api/v1/events/${id}/replay`)).json.dispatch_id as string
/** Makes an attempt now, even if it is not due yet. */
const attempt = (dispatchId: string, number: number, nextDelayMs?: number) =>
  api.attemptOnce({ dispatchId: uuidOf(dispatchId), number, nextDelayMs, early: true })

test('before its first attempt an event has one dispatch, which waits', async () => {
  const id = await newEvent()
  const { dispatches, ...event } = await detail(id)
  expect(event).toEqual(await listed(id))
  expect(event).toMatchObject({ event_id: id, attempts: 0 })
  expect(dispatches).toEqual([
    {
      dispatch_id: originalOf(id),
      endpoint_id: endpointId,
      kind: 'original',
      state: 'waiting',
      created_at: TIME,
      next_attempt_at: TIME,
      attempts: [],
    },
  ])
})

test('a dispatch shows its attempts in order: one that failed, then one that was acknowledged', async () => {
  const id = await newEvent()
  receiver.script = { status: 503, body: 'restarting' }
  await attempt(originalOf(id), 1, 60_000)
  const [original] = (await detail(id)).dispatches
  expect(original).toMatchObject({ state: 'waiting', next_attempt_at: TIME })
  const [{ started_at, finished_at, duration_ms }] = original.attempts
  expect(Date.parse(original.next_attempt_at) - Date.parse(finished_at)).toBeGreaterThan(50_000)
  expect(Date.parse(finished_at) - Date.parse(started_at)).toBe(duration_ms)
  expect(original.attempts).toEqual([
    {
      number: 1,
      started_at: TIME,
      finished_at: TIME,
      outcome: 'not_200',
      detail: 'The endpoint responded with 503. Only 200 acknowledges an event.',
      status_code: 503,
      duration_ms: expect.any(Number),
      phases: expect.objectContaining({ head_ms: expect.any(Number) }),
      response_excerpt: 'restarting',
      request: expect.objectContaining({ body: expect.stringContaining(id) }),
    },
  ])
  expect(await listed(id)).toMatchObject({
    ...{ attempts: 1, next_attempt_at: original.next_attempt_at },
    ...{ last_status_code: 503, last_detail: original.attempts[0].detail },
  })
  expect(await listed(id)).not.toHaveProperty('acknowledged_at')

  receiver.script = {}
  await attempt(originalOf(id), 2, 300_000)
  const { dispatches, ...event } = await detail(id)
  expect(dispatches).toMatchObject([
    { state: 'acknowledged', ended_at: TIME, attempts: [original.attempts[0], { number: 2, outcome: 'acked' }] },
  ])
  expect(dispatches[0]).not.toHaveProperty('next_attempt_at')
  expect(event).not.toHaveProperty('next_attempt_at')
  expect(event).toMatchObject({ attempts: 2, acknowledged_at: dispatches[0].attempts[1].finished_at })
  for (const field of ['last_status_code', 'last_detail']) expect(event).not.toHaveProperty(field)
  expect(await listed(id)).toEqual(event)
})

test('while an attempt runs there is no time of the next one', async () => {
  const id = await newEvent()
  await updateOriginal(id, { startedAt: sql`now() - interval '1 second'` })
  expect((await detail(id)).dispatches[0]).not.toHaveProperty('next_attempt_at')
  // The event itself shows that it waits: its time is then in the past.
  expect(Date.parse((await detail(id)).next_attempt_at)).toBeLessThanOrEqual(Date.now())
})

test('an attempt whose process died has the outcome unknown, and is repeated under its number', async () => {
  const id = await newEvent()
  await updateOriginal(id, { startedAt: sql`now() - interval '1 second'` })
  await attempt(originalOf(id), 1)
  const { dispatches, attempts } = await detail(id)
  expect(attempts).toBe(2)
  expect(dispatches[0].attempts).toEqual([
    { number: 1, started_at: TIME, outcome: 'unknown', detail: expect.stringContaining('service stopped') },
    expect.objectContaining({ number: 1, outcome: 'acked', finished_at: TIME }),
  ])
})

test('while the process that stored the event may make its first attempt, there is no time of the next one', async () => {
  const id = await newEvent()
  await updateOriginal(id, { leaseUntil: sql`now() + interval '1 minute'` })
  expect((await detail(id)).dispatches[0]).not.toHaveProperty('next_attempt_at')
  await updateOriginal(id, { leaseUntil: sql`now() - interval '1 second'` })
  expect((await detail(id)).dispatches[0]).toHaveProperty('next_attempt_at')
})

test('the page of a workflow is linked from its start on', async () => {
  const id = await newEvent()
  await updateOriginal(id, { workflowId: `webhook-${originalOf(id)}-2` })
  expect((await detail(id)).dispatches[0]).not.toHaveProperty('workflow_url')
  await updateOriginal(id, { handedOverAt: sql`now()` })
  expect((await detail(id)).dispatches[0]).toHaveProperty('workflow_url')
})

test('the page of a workflow is linked for as long as Temporal keeps the workflow', async () => {
  const id = await newEvent()
  await updateOriginal(id, { workflowId: `webhook-${id}-gone`, handedOverAt: sql`now()` })
  expect((await detail(id)).dispatches[0]).not.toHaveProperty('workflow_kept_until')
  await finishDispatches(api.world.db, [uuidOf(id)], 'exhausted')
  const [ended] = (await detail(id)).dispatches
  expect(Date.parse(ended.workflow_kept_until) - Date.parse(ended.ended_at)).toBe(RETENTION_MS)
  expect(ended).toHaveProperty('workflow_url')
  const { db } = api.world
  const [row] = await db
    .select()
    .from(dispatchRows)
    .where(eq(dispatchRows.id, uuidOf(id)))
  const endedAt = new Date(Date.now() - RETENTION_MS - 1_000)
  await db
    .insert(dispatchRows)
    .values({ ...row!, id: newId(Date.now()), kind: 'replay', endedAt, workflowId: 'replay-gone' })
  const [, gone] = (await detail(id)).dispatches
  expect(gone).toMatchObject({ workflow_id: 'replay-gone', workflow_kept_until: TIME })
  expect(gone).not.toHaveProperty('workflow_url')
})

test('a dispatch is linked while another one of its workflow waits', async () => {
  const [id, other] = [await newEvent(), await newEvent()]
  for (const each of [id, other]) await updateOriginal(each, { workflowId: 'webhook-both', handedOverAt: sql`now()` })
  await finishDispatches(api.world.db, [uuidOf(id)], 'exhausted')
  const [dispatch] = (await detail(id)).dispatches
  expect(dispatch).toHaveProperty('workflow_url')
  expect(dispatch).not.toHaveProperty('workflow_kept_until')
})

test('an attempt shows what it posted, with its signatures hidden and the values of the query masked', async () => {
  const url = `${receiver.url}?token=secret&plain`
  await api.call('PUT', '/api/v1/webhook', { body: { url } })
  const id = await newEvent()
  await attempt(originalOf(id), 1)
  const [sent] = receiver.requests
  const { request } = (await detail(id)).dispatches[0].attempts[0]
  expect(request.url).toBe(`${receiver.url}?token=***&***`)
  expect(request.body).toBe(sent!.body.toString())
  expect(request.headers['Service-Signature']).toBe('(signed)')
  expect(request.headers['webhook-signature']).toBe('(signed)')
  for (const [name, value] of Object.entries(request.headers))
    if (value !== '(signed)') expect([name, sent!.headers[name.toLowerCase()]]).toEqual([name, value])
  expect(JSON.stringify(request)).not.toContain('secret')
  // A later URL does not change where the attempt went.
  await api.call('PUT', '/api/v1/webhook', { body: { url: receiver.url } })
  expect((await detail(id)).dispatches[0].attempts[0].request.url).toBe(request.url)
})

test('without the scope webhooks.read an attempt does not show its URL', async () => {
  const id = await newEvent()
  await attempt(originalOf(id), 1)
  const { db, clock, account } = api.world
  const { key } = await createKey(db, clock, {
    accountId: account.id,
    name: 'events',
    kind: 'live',
    scopes: ['events.read'],
  })
  const { json } = await api.call('GET', `/api/v1/events/${id}`, { key })
  const { request } = json.dispatches[0].attempts[0]
  expect(request).not.toHaveProperty('url')
  expect(request.body).toContain(id)
})

test('a redirect names where it leads, and a refused connection names its cause', async () => {
  const id = await newEvent()
  receiver.script = { status: 308, headers: { location: 'https://www.example.com/hooks?token=secret' } }
  await attempt(originalOf(id), 1, 0)
  await receiver.close()
  await attempt(originalOf(id), 2)
  receiver = await startReceiver()
  await api.call('PUT', '/api/v1/webhook', { body: { url: receiver.url } })
  expect((await detail(id)).dispatches[0].attempts).toMatchObject([
    {
      outcome: 'not_200',
      detail: expect.stringContaining('308 and redirects to https://www.example.com/hooks?token=***.'),
    },
    { outcome: 'connect', detail: expect.stringMatching(/^The connection was refused: .* \(ECONNREFUSED\)$/) },
  ])
})

test('an exhausted dispatch is shown before its acknowledged replay', async () => {
  const id = await newEvent()
  receiver.script = { status: 500 }
  await attempt(originalOf(id), 1, 0)
  await attempt(originalOf(id), 2)
  await finishDispatches(api.world.db, [uuidOf(id)], 'exhausted')
  const replayed = await replay(id)
  const workflowId = `replay-${id}-${replayed.slice(-10)}`
  receiver.script = {}
  await attempt(replayed, 1, 0)
  expect(await listed(id)).not.toHaveProperty('next_attempt_at')
  const { dispatches, attempts, acknowledged_at } = await detail(id)
  expect(dispatches).toMatchObject([
    { dispatch_id: originalOf(id), kind: 'original', state: 'exhausted', attempts: [{ number: 1 }, { number: 2 }] },
    {
      dispatch_id: replayed,
      kind: 'replay',
      state: 'acknowledged',
      workflow_id: workflowId,
      workflow_url: `http://temporal.test/namespaces/default/workflows/${workflowId}`,
      attempts: [{ number: 1, outcome: 'acked' }],
    },
  ])
  expect([attempts, acknowledged_at]).toEqual([3, dispatches[1].attempts[0].finished_at])
})

test('acknowledged_at is the time of the first acknowledgement, and replays leave a waiting dispatch alone', async () => {
  const id = await newEvent()
  const replays = [await replay(id), await replay(id)]
  for (const dispatchId of replays) await attempt(dispatchId, 1)
  const { dispatches, acknowledged_at, attempts } = await detail(id)
  expect(dispatches).toMatchObject([
    { kind: 'original', state: 'waiting' },
    { dispatch_id: replays[0], state: 'acknowledged' },
    { dispatch_id: replays[1], state: 'acknowledged' },
  ])
  expect([attempts, acknowledged_at]).toEqual([2, dispatches[1].attempts[0].finished_at])
  expect(receiver.requests.map(({ body }) => body.toString())).toEqual(
    Array(2).fill(receiver.requests[0]!.body.toString()),
  )
})

test('a sandbox event is pushed by replays only, and its payload says sandbox', async () => {
  const id = await newEvent({ 'x-service-sandbox': 'true' })
  expect(await detail(id)).toMatchObject({ sandbox: true, attempts: 0, dispatches: [] })
  await attempt(await replay(id), 1)
  expect(await detail(id)).toMatchObject({ attempts: 1, dispatches: [{ kind: 'replay', state: 'acknowledged' }] })
  expect(JSON.parse(receiver.requests[0]!.body.toString())).toMatchObject({ event_id: id, sandbox: true })
})

test('an event shows its original dispatch and its newest hundred replays, and counts the attempts of all', async () => {
  const id = await newEvent()
  await attempt(originalOf(id), 1)
  const ids = Array.from({ length: 105 }, (_, i) => newId(api.world.clock.now() + i))
  const { db } = api.world
  const now = new Date()
  const [event] = await db
    .select({ eventId: events.id, messageId: events.messageId, accountId: events.accountId })
    .from(events)
    .where(eq(events.id, uuidOf(id)))
  const replays = {
    ...event!,
    endpointId: event!.accountId,
    kind: 'replay',
    state: 'exhausted',
    createdAt: now,
    endedAt: now,
  }
  await db.insert(dispatchRows).values(ids.map((replayId) => ({ id: replayId, ...replays })))
  await db.insert(attemptRows).values(
    ids.map((dispatchId) => ({
      dispatchId,
      accountId: event!.accountId,
      number: 1,
      startedAt: now,
      outcome: 'unknown',
    })),
  )
  const { dispatches, attempts } = await detail(id)
  expect(attempts).toBe(106)
  const dispatchIds = dispatches.map(({ dispatch_id }: { dispatch_id: string }) => dispatch_id)
  expect(dispatchIds).toEqual([originalOf(id), ...ids.slice(5).map((replayId) => publicId('dsp', replayId))])
})

test('an event of an account without an endpoint has no dispatch until it is replayed', async () => {
  await api.call('DELETE', '/api/v1/webhook')
  const id = await newEvent()
  await api.call('PUT', '/api/v1/webhook', { body: { url: receiver.url } })
  expect(await detail(id)).toMatchObject({ attempts: 0, dispatches: [] })
  expect(await replay(id)).toMatch(/^dsp_/)
})

test('an event that is unknown or belongs to another account, and an invalid id, are 404', async () => {
  const id = await newEvent()
  for (const [eventId, key] of [
    [publicId('evt', newId(Date.now())), undefined],
    ['nonsense', undefined],
    [id.replace('evt', 'msg'), undefined],
    [id, api.keys.stranger],
  ] as const) {
    const { status, json } = await api.call('GET', `/api/v1/events/${eventId}`, { key })
    expect([eventId, status, json.error]).toEqual([eventId, 404, 'not_found'])
  }
})

test('gRPC shows the same dispatches', async () => {
  const id = await newEvent()
  await attempt(originalOf(id), 1)
  const client = api.grpc(EventService)
  const { dispatchId, replayed, dispatchedAt } = await client.replayEvent({ eventId: id })
  expect([replayed, dispatchedAt]).toMatchObject([true, { nanos: expect.any(Number) }])
  const event = await client.getEvent({ eventId: id })
  expect(event.dispatches).toMatchObject([
    { kind: DispatchKind.ORIGINAL, state: DispatchState.ACKNOWLEDGED, attempts: [{ outcome: AttemptOutcome.ACKED }] },
    { kind: DispatchKind.REPLAY, state: DispatchState.WAITING, dispatchId },
  ])
  expect((await client.replayMessage({ messageId: event.messageId })).count).toBe(1)
  const listed = (await client.listEvents({ messageId: event.messageId })).events
  expect(listed).toMatchObject([{ eventId: id, attempts: 1 }])
})
