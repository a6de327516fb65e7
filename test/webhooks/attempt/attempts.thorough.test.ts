import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { beforeEach, expect, test, vi } from 'vitest'
import { createDatabaseClock } from '../../../server/db/clock.ts'
import { eq, sql } from '../../../server/db/drizzle.ts'
import { createSealer } from '../../../server/db/encryption.ts'
import { newId, publicId } from '../../../server/db/ids.ts'
import {
  attempts as attemptRows,
  events as eventRows,
  openDispatches as openDispatchRows,
  webhookHours,
} from '../../../server/db/schema.ts'
import { createAccount } from '../../../server/directory/accounts.ts'
import { NO_TRACING, passedOn, type Trace, type Tracing } from '../../../server/telemetry/tracing.ts'
import { type AttemptReport, createAttempts } from '../../../server/webhooks/attempt/attempt-once.ts'
import { finishDispatches } from '../../../server/webhooks/attempt/end.ts'
import { payloadOf } from '../../../server/webhooks/attempt/payload.ts'
import {
  deleteEndpoint,
  type EndpointWithSecret,
  putFirst,
  rotateSecret,
} from '../../../server/webhooks/endpoints/change-endpoints.ts'
import { failingEndpoints, healthsOf } from '../../../server/webhooks/endpoints/endpoint-health.ts'
import { createPost, type Post, type PostResult } from '../../../server/webhooks/post/post.ts'
import { testDatabase } from '../../harness/postgres.ts'
import { startReceiver } from '../../harness/receiver.ts'
import { untilEnd } from '../../harness/until-end.ts'
import { letArrive, outlast } from '../../harness/waits.ts'
import { attemptsOf, newEvent, openDispatches, stateOf, storeDispatches } from '../rows.ts'

let accountId: string
let endpointId: string
let secret: string
const sealer = createSealer([{ id: 'k1', key: randomBytes(32) }])
const { post } = untilEnd(createPost({ allowSubnets: ['127.0.0.0/8'], lookup: async () => ['127.0.0.1'] }))

const database = await testDatabase()
const clock = untilEnd(await createDatabaseClock(database.db))
const receiver = untilEnd(await startReceiver())
const attempts = createAttempts({ db: database.db, clock, sealer, post })
beforeEach(async () => {
  accountId = (await createAccount(database.db, clock, 'Test')).id
  await setEndpoint(receiver.url)
  receiver.script = {}
  receiver.requests.length = 0
})

/** Sets the account's endpoint. Events of later tests are dispatched to it. */
async function setEndpoint(url: string): Promise<void> {
  const put = (await putFirst({ db: database.db, sealer }, accountId, { url })) as EndpointWithSecret
  endpointId = put.endpoint.id
  secret = put.secret ?? secret
}
const one = async (state: Parameters<typeof storeDispatches>[2] = {}, change = {}) => {
  const event = newEvent(accountId, { endpointId, ...change })
  await storeDispatches(database, [event], state)
  return event
}
const deliver = (event: { id: string }, number: number, more = {}) =>
  attempts.attemptOnce({ dispatchId: event.id, number, nextDelayMs: 60_000, ...more })

test('HTTP 200 ends a dispatch, and the attempt is stored with its phases', async () => {
  const event = await one({ lease: 30 })
  receiver.script = { body: 'thanks', delayMs: 50 }
  await (await attempts.attemptFirst(event, 60_000))!.stored
  expect(receiver.requests).toHaveLength(1)
  expect(await stateOf(database, event)).toBe('acknowledged')
  expect(await attemptsOf(database, event)).toMatchObject([
    { number: 1, outcome: 'acked', statusCode: 200, excerpt: 'thanks', nextAttemptAt: null },
  ])
  const [row] = await database.db.select().from(attemptRows).where(eq(attemptRows.dispatchId, event.id))
  const { startedAt, finishedAt, excerptCut } = row!
  // The receiver waits for 50 ms.
  expect(finishedAt!.getTime() - startedAt.getTime()).toBeGreaterThanOrEqual(49)
  expect(receiver.requests[0]!.headers['service-timestamp']).toBe(`${Math.floor(startedAt.getTime() / 1_000)}`)
  expect(excerptCut).toBe(false)
})

test('an excerpt that was cut is stored as such, and an attempt without a response has none', async () => {
  const cutOf = async (response: object) => {
    receiver.script = response
    const event = await one({ attempt: 2, due: -1 })
    await deliver(event, 2)
    const [row] = await database.db.select().from(attemptRows).where(eq(attemptRows.dispatchId, event.id))
    return [row!.excerpt?.length, row!.excerptCut]
  }
  expect(await cutOf({ status: 500, body: 'x'.repeat(1_025) })).toEqual([1_024, true])
  expect(await cutOf({ fault: 'close' })).toEqual([undefined, false])
})

test.each([
  [{ status: 500 }, 'not_200'],
  [{ status: 410 }, 'not_200'],
  [{ status: 301, headers: { location: 'http://127.0.0.1:1/' } }, 'not_200'],
  [{ status: 201 }, 'success_but_not_200'],
  [{ status: 204 }, 'success_but_not_200'],
])('HTTP 200 alone acknowledges: %j is %s, and the next attempt is due after its delay', async (response, outcome) => {
  const event = await one({ attempt: 2, due: -1 })
  receiver.script = response
  expect(await deliver(event, 2)).toMatchObject({ state: 'failed', outcome, statusCode: response.status })
  expect(await openDispatches(database, [event])).toMatchObject([{ attempt: 3, waits: true, startedAt: null }])
  const [attempt] = await attemptsOf(database, event)
  expect(attempt).toMatchObject({ number: 2, outcome, statusCode: response.status })
  expect(attempt!.nextAttemptAt!.getTime() - attempt!.finishedAt!.getTime()).toBeGreaterThan(59_000)
})

test('the body has the same bytes on every attempt, the timestamp and signatures are new', async () => {
  const event = await one({ lease: 30 }, { status: 'bounced', reason: 'mailbox_full' })
  receiver.script = { status: 503 }
  await (await attempts.attemptFirst(event, 0))!.stored
  await outlast(1_100)
  await deliver(event, 2)
  const [first, second] = receiver.requests
  expect(first!.body).toEqual(payloadOf(event))
  expect(second!.body).toEqual(first!.body)
  expect(Number(second!.headers['service-timestamp'])).toBeGreaterThan(Number(first!.headers['service-timestamp']))
  expect(second!.headers['service-signature']).not.toBe(first!.headers['service-signature'])
  expect([first!.headers['service-attempt'], second!.headers['service-attempt']]).toEqual(['1', '2'])
  expect(second!.headers['service-event-id']).toBe(publicId('evt', event.id))
  expect(second!.headers['service-dispatch-id']).toBe(publicId('dsp', event.id))
})

test('no attempt is made before it is due, unless an operator asks for it', async () => {
  const event = await one({ attempt: 2, due: 60 })
  expect(await deliver(event, 2)).toEqual({ state: 'not_due' })
  expect(receiver.requests).toEqual([])
  expect(await deliver(event, 2, { early: true })).toMatchObject({ state: 'acknowledged' })
})

test('no attempt is made after the window of 24 hours', async () => {
  const event = await one({ attempt: 5, due: -10, deadline: -1 })
  expect(await deliver(event, 5)).toEqual({ state: 'failed' })
  expect(receiver.requests).toEqual([])
})

test('a dispatch whose window is over waits while its group goes on', async () => {
  const event = await one({ attempt: 2, due: -10, deadline: -1 })
  for (const number of [2, 3, 6]) expect(await deliver(event, number)).toEqual({ state: 'failed' })
  expect(await stateOf(database, event)).toBe('waiting')
  expect(receiver.requests).toEqual([])
})

test('an attempt that is due only after the window is not announced', async () => {
  const event = await one({ attempt: 5, due: -1, deadline: 10 })
  receiver.script = { status: 500 }
  await deliver(event, 5)
  expect(await attemptsOf(database, event)).toMatchObject([{ nextAttemptAt: null }])
})

test('an attempt whose process died is stored as unknown, and made again under the same number', async () => {
  const event = await one({ attempt: 3, due: -10, started: true })
  expect(await deliver(event, 3)).toMatchObject({ state: 'acknowledged' })
  expect(await attemptsOf(database, event)).toMatchObject([
    { number: 3, outcome: 'unknown', finishedAt: null },
    { number: 3, outcome: 'acked' },
  ])
})

test('a process makes an attempt once, however often it is asked for while it runs', async () => {
  // Temporal repeats the call when it did not hear of the worker, which may have been stopped and go on with the first.
  const asked = fc.record({
    calls: fc.integer({ min: 2, max: 5 }),
    status: fc.constantFrom(200, 503),
    early: fc.boolean(),
  })
  const property = fc.asyncProperty(asked, async ({ calls, status, early }) => {
    receiver.requests.length = 0
    receiver.script = { status }
    const events = [await one({ attempt: 2 }), await one({ attempt: 2 })]
    const asking = events.flatMap((event) => Array.from({ length: calls }, () => deliver(event, 2, { early })))
    const state = status === 200 ? 'acknowledged' : 'failed'
    expect((await Promise.all(asking)).map((result) => result.state)).toEqual(asking.map(() => state))
    expect(receiver.requests).toHaveLength(events.length)
    for (const event of events)
      expect(await attemptsOf(database, event)).toMatchObject([{ number: 2, statusCode: status }])
  })
  await fc.assert(property, { numRuns: 10 })
})

test('an attempt that was made is not made again', async () => {
  for (const due of [-10, 60]) {
    const event = await one({ attempt: 3, due })
    expect(await deliver(event, 2)).toEqual({ state: 'failed' })
  }
  expect(receiver.requests).toEqual([])
})

test('a workflow that is ahead of its rows, which a restored database lacks, ends', async () => {
  const event = await one({ attempt: 2, due: -10 })
  expect(await deliver(event, 3)).toEqual({ state: 'ended' })
  expect(await openDispatches(database, [event])).toMatchObject([{ attempt: 2, startedAt: null }])
  expect(receiver.requests).toEqual([])
})

test('a process whose lease is nearly over, or gone, does not make the first attempt', async () => {
  const late = await one({ lease: 5 })
  const assignedEvent = await one({ workflowId: 'webhook-x-1' })
  expect(await attempts.attemptFirst(late)).toBeUndefined()
  expect(await attempts.attemptFirst(assignedEvent)).toBeUndefined()
  expect(receiver.requests).toEqual([])
})

test('a first attempt goes to the current endpoint, however soon after the commit', async () => {
  const other = await startReceiver()
  const changed = await one({ lease: 30 })
  await setEndpoint(other.url)
  await (await attempts.attemptFirst(changed, 0))!.stored
  expect([receiver.requests.length, other.requests.length]).toEqual([0, 1])
  const deleted = await one({ lease: 30 })
  await deleteEndpoint(database.db, accountId, 'first')
  expect(await attempts.attemptFirst(deleted, 0)).toBeUndefined()
  expect(await stateOf(database, deleted)).toBe('cancelled')
  expect([receiver.requests.length, other.requests.length]).toEqual([0, 1])
  await other.close()
})

test('a first and a later attempt take their slot at the origin from those of their account', async () => {
  const accounts: unknown[] = []
  const acked: PostResult = { outcome: 'acked', statusCode: 200, phases: {} }
  const recording = createAttempts({
    db: database.db,
    clock,
    sealer,
    post: async (_url, _headers, _body, options) => {
      accounts.push(options.accountId)
      return acked
    },
  })
  await (await recording.attemptFirst(await one({ lease: 30 })))!.stored
  await recording.attemptOnce({ dispatchId: (await one({ attempt: 2, due: -1 })).id, number: 2 })
  expect(accounts).toEqual([accountId, accountId])
})

test('an attempt that gets no slot at the origin is not made: it stays due, and its number can be used again', async () => {
  let isFull = true
  const { attemptFirst, attemptOnce } = createAttempts({
    ...{ db: database.db, clock, sealer },
    post: async (...request) => (isFull ? undefined : post(...request)),
  })
  const [event, first] = [await one({ attempt: 2, due: -1 }), await one({ lease: 30 })]
  expect(await attemptOnce({ dispatchId: event.id, number: 2 })).toEqual({ state: 'no_slot' })
  expect(await openDispatches(database, [event])).toMatchObject([{ attempt: 2, startedAt: null, waits: false }])
  expect(await attemptFirst(first)).toBeUndefined()
  expect(await attemptsOf(database, first)).toEqual([])
  isFull = false
  expect(await attemptOnce({ dispatchId: event.id, number: 2 })).toMatchObject({ state: 'acknowledged' })
  expect(await attemptsOf(database, event)).toMatchObject([{ number: 2, outcome: 'acked' }])
})

test('each attempt goes to the current endpoint, and is signed with the current secret', async () => {
  const other = await startReceiver()
  const event = await one({ lease: 30 })
  receiver.script = { status: 500 }
  await (await attempts.attemptFirst(event, 0))!.stored
  await setEndpoint(other.url)
  const rotated = await rotateSecret({ db: database.db, sealer }, accountId, 'first')
  expect(rotated!.secret).not.toBe(secret)
  expect(await deliver(event, 2)).toMatchObject({ state: 'acknowledged' })
  expect([receiver.requests.length, other.requests.length]).toEqual([1, 1])
  expect(other.requests[0]!.headers['service-signature-previous']).toMatch(/^[0-9a-f]{64}$/)
  await other.close()
})

test('deleting the endpoint cancels the dispatches that wait', async () => {
  const event = await one({ attempt: 2, due: -1 })
  await deleteEndpoint(database.db, accountId, 'first')
  expect(await stateOf(database, event)).toBe('cancelled')
  expect(await deliver(event, 2)).toEqual({ state: 'ended' })
  // This dispatch was stored at the very moment of the deletion.
  const late = await one({ lease: 30 })
  expect(await attempts.attemptFirst(late)).toBeUndefined()
  expect(await stateOf(database, late)).toBe('cancelled')
  expect(receiver.requests).toEqual([])
})

test.each([
  ['process that stored the event', { lease: 30 }, 1],
  ['workflow', { attempt: 2, due: -1, workflowId: 'webhook-x-2' }, 2],
])(
  'an attempt that a %s makes while its endpoint is deleted decides how the dispatch ends',
  async (_, state, number) => {
    for (const status of [200, 503]) {
      await setEndpoint(receiver.url)
      const event = await one(state)
      const response = Promise.withResolvers<object>()
      receiver.requests.length = 0
      receiver.script = () => response.promise
      const attempt = number === 1 ? attempts.attemptFirst(event, 60_000) : deliver(event, number)
      await expect.poll(() => receiver.requests.length).toBe(1)
      expect(await deleteEndpoint(database.db, accountId, 'first')).toEqual(number === 1 ? [] : ['webhook-x-2'])
      response.resolve({ status })
      const result = await attempt
      if (result && 'stored' in result) await result.stored
      expect(await stateOf(database, event)).toBe(status === 200 ? 'acknowledged' : 'waiting')
      expect(await attemptsOf(database, event)).toMatchObject([{ number, statusCode: status }])
    }
  },
)

test('an event whose endpoint was deleted during its attempt is never sent to the next endpoint', async () => {
  for (const number of [1, 2]) {
    await setEndpoint(receiver.url)
    const event = await one(number === 1 ? { lease: 30 } : { attempt: 2, due: -1, workflowId: 'webhook-x-2' })
    const response = Promise.withResolvers<object>()
    receiver.requests.length = 0
    receiver.script = () => response.promise
    const attempt = number === 1 ? attempts.attemptFirst(event, 0) : deliver(event, number)
    await expect.poll(() => receiver.requests.length).toBe(1)
    await deleteEndpoint(database.db, accountId, 'first')
    await setEndpoint(receiver.url)
    response.resolve({ status: 503 })
    const result = await attempt
    if (result && 'stored' in result) await result.stored
    expect(await deliver(event, number + 1)).toEqual({ state: 'ended' })
    expect(await stateOf(database, event)).toBe('cancelled')
    expect(receiver.requests).toHaveLength(1)
  }
})

test('an event whose endpoint was deleted before its first attempt began is never sent to the next endpoint', async () => {
  const event = await one({ lease: 30 })
  await deleteEndpoint(database.db, accountId, 'first')
  await setEndpoint(receiver.url)
  expect(await attempts.attemptFirst(event)).toBeUndefined()
  expect(await stateOf(database, event)).toBe('cancelled')
  expect(receiver.requests).toEqual([])
})

test('a dispatch whose event is no longer kept is cancelled', async () => {
  const event = await one({ attempt: 2, due: -1 })
  await database.db.delete(eventRows).where(eq(eventRows.id, event.id))
  expect(await deliver(event, 2)).toEqual({ state: 'ended' })
  expect(await stateOf(database, event)).toBe('cancelled')
  expect(receiver.requests).toEqual([])
})

test('the span of an attempt continues the trace of its activity if its dispatch belongs to that trace, and otherwise links to it', async () => {
  const [trace, other] = ['a'.repeat(32), 'b'.repeat(32)]
  const at = (traceId: string, span: string) => `00-${traceId}-${span.repeat(16)}-01`
  const cases = [
    { dispatch: at(trace, '1'), activity: at(trace, '2'), parent: at(trace, '2') },
    { dispatch: at(trace, '1'), activity: at(other, '2'), parent: at(trace, '1'), link: at(other, '2') },
    { dispatch: at(trace, '1'), activity: undefined, parent: at(trace, '1') },
    { dispatch: null, activity: at(other, '2'), parent: at(other, '2') },
    { dispatch: null, activity: undefined },
  ]
  for (const { dispatch, activity, ...expected } of cases) {
    const begun: object[] = []
    const tracing: Tracing = {
      ...NO_TRACING,
      active: () => activity,
      begin: (name, { kind, attributes, ...beginning }) => {
        begun.push({ name, kind, ...attributes, ...beginning })
        return NO_TRACING.begin(name, { kind, ...beginning })
      },
    }
    const event = await one({ attempt: 2, due: -1 })
    await database.db.update(openDispatchRows).set({ traceparent: dispatch }).where(eq(openDispatchRows.id, event.id))
    receiver.requests.length = 0
    await createAttempts({ db: database.db, clock, sealer, post, tracing }).attemptOnce({
      ...{ dispatchId: event.id, number: 2 },
    })
    expect(begun).toEqual([
      {
        ...{ name: 'webhook attempt', kind: 'client', 'verdict.attempt': 2, ...expected },
        'verdict.event_id': publicId('evt', event.id),
        'verdict.dispatch_id': publicId('dsp', event.id),
      },
    ])
    expect(receiver.requests[0]!.headers.traceparent).toBe(expected.parent)
  }
})

test.each([
  ['acked', async () => ({ outcome: 'acked', statusCode: 200, phases: {} }), undefined],
  ['not_200', async () => ({ outcome: 'not_200', statusCode: 500, phases: {} }), 'not_200'],
  ['no slot', async () => undefined, 'no_slot'],
  ['a fault of the service', () => Promise.reject(new Error('gone')), 'unknown'],
] as [string, Post, string | undefined][])(
  'the span and the log say how an attempt ended: %s',
  async (_, post, error) => {
    const ended: unknown[] = []
    const set = vi.fn<Trace['set']>()
    const report = vi.fn<(attempt: AttemptReport) => void>()
    const trace = {
      ...passedOn(`00-${'a'.repeat(32)}-${'1'.repeat(16)}-01`),
      set,
      end: (why?: string) => ended.push(why),
    }
    const tracing: Tracing = { ...NO_TRACING, begin: () => trace }
    const event = await one({ attempt: 2, due: -1 })
    const made = createAttempts({ db: database.db, clock, sealer, post, tracing, report })
    await made.attemptOnce({ dispatchId: event.id, number: 2 }).catch(() => {})
    expect(ended).toEqual([error])
    const result = await post('', {}, Buffer.of(), { accountId }).catch(() => undefined)
    const { outcome, statusCode } = result ?? {}
    const ids = { dispatchId: event.id, eventId: event.id, traceId: trace.traceId }
    expect(report.mock.lastCall).toEqual(result && [{ ...result, ...ids, number: 2, durationMs: expect.any(Number) }])
    expect(set.mock.lastCall).toEqual(
      result && [{ 'verdict.outcome': outcome, 'http.response.status_code': statusCode }],
    )
  },
)

test('a dispatch that was cancelled never shows an acknowledged attempt', async () => {
  const event = await one({ lease: 30 })
  const response = Promise.withResolvers<object>()
  receiver.script = () => response.promise
  const attempt = attempts.attemptFirst(event, 60_000)
  await expect.poll(() => receiver.requests.length).toBe(1)
  // The process was stopped past its lease. A workflow took over and was cancelled.
  await database.db
    .update(openDispatchRows)
    .set({ leaseUntil: null, startedAt: sql`now()` })
    .where(eq(openDispatchRows.id, event.id))
  await finishDispatches(database.db, [event.id], 'cancelled')
  response.resolve({})
  await (await attempt)!.stored
  expect(await stateOf(database, event)).toBe('cancelled')
  expect(await attemptsOf(database, event)).toMatchObject([{ number: 1, outcome: 'unknown' }])
})

test('an acknowledgement that comes after its attempt was stored as unknown is an attempt of its own', async () => {
  const event = await one({ attempt: 2, due: -10 })
  const [late, again] = [Promise.withResolvers<object>(), Promise.withResolvers<object>()]
  receiver.script = () => (receiver.requests.length === 1 ? late.promise : again.promise)
  const first = deliver(event, 2)
  await expect.poll(() => receiver.requests.length).toBe(1)
  // Its process stood still, and another one makes the attempt again.
  const another = createAttempts({ db: database.db, clock, sealer, post })
  const repeat = another.attemptOnce({ dispatchId: event.id, number: 2, nextDelayMs: 60_000 })
  await expect.poll(() => receiver.requests.length).toBe(2)
  late.resolve({})
  await first
  again.resolve({})
  await repeat
  expect(await stateOf(database, event)).toBe('acknowledged')
  expect((await attemptsOf(database, event)).map(({ number, outcome }) => [number, outcome])).toEqual([
    [2, 'acked'],
    [2, 'unknown'],
  ])
})

test('an attempt that does not begin because the endpoint is gone is not stored as unknown', async () => {
  await deleteEndpoint(database.db, accountId, 'first')
  const event = await one({ attempt: 2, due: -1, workflowId: 'webhook-x-2' })
  expect(await deliver(event, 2)).toEqual({ state: 'ended' })
  expect(await stateOf(database, event)).toBe('cancelled')
  expect(await attemptsOf(database, event)).toEqual([])
})

test('200 acknowledges also when a workflow has taken the dispatch over in the meantime', async () => {
  const event = await one({ lease: 30 })
  receiver.script = { delayMs: 300 }
  const first = attempts.attemptFirst(event, 60_000)
  await letArrive(100)
  await database.db
    .update(openDispatchRows)
    .set({ leaseUntil: null, workflowId: 'webhook-x-1' })
    .where(eq(openDispatchRows.id, event.id))
  await (await first)!.stored
  expect(await stateOf(database, event)).toBe('acknowledged')
  expect(await deliver(event, 1)).toEqual({ state: 'acknowledged' })
  expect(receiver.requests).toHaveLength(1)
})

test('an attempt that is running when its dispatch is cancelled is stored as unknown', async () => {
  const event = await one({ attempt: 2, due: -10, started: true })
  await finishDispatches(database.db, [event.id], 'cancelled')
  expect(await stateOf(database, event)).toBe('cancelled')
  expect(await attemptsOf(database, event)).toMatchObject([{ number: 2, outcome: 'unknown' }])
})

test('a dispatch that is over stays as it is', async () => {
  const event = await one({ lease: 30 })
  await (await attempts.attemptFirst(event))!.stored
  await finishDispatches(database.db, [event.id], 'cancelled')
  expect(await stateOf(database, event)).toBe('acknowledged')
})

test('the health of an endpoint counts attempts, and failures since the last acknowledgement', async () => {
  receiver.script = { status: 500 }
  for (let i = 0; i < 3; i++) await deliver(await one({ attempt: 2, due: -1 }), 2)
  expect((await healthsOf(database.db, accountId, [{ id: endpointId }]))[0]).toMatchObject({
    acknowledged: 0,
    failed: 3,
    consecutiveFailures: 3,
    waiting: 3,
  })
  receiver.script = {}
  await deliver(await one({ attempt: 2, due: -1 }), 2)
  receiver.script = { status: 500 }
  await deliver(await one({ attempt: 2, due: -1 }), 2)
  expect((await healthsOf(database.db, accountId, [{ id: endpointId }]))[0]).toMatchObject({
    acknowledged: 1,
    failed: 4,
    consecutiveFailures: 1,
    waiting: 4,
  })
})

test('an endpoint that has acknowledged nothing for an hour is failing, until it acknowledges again', async () => {
  receiver.script = { status: 500 }
  await deliver(await one({ attempt: 2, due: -1 }), 2)
  const failing = async () =>
    (await failingEndpoints(database.db)).filter((endpoint) => endpoint.accountId === accountId)
  expect(await failing()).toEqual([])
  await database.db
    .update(webhookHours)
    .set({ hour: sql`${webhookHours.hour} - interval '2 hours'` })
    .where(eq(webhookHours.accountId, accountId))
  expect(await failing()).toMatchObject([{ url: receiver.url }])
  receiver.script = {}
  await deliver(await one({ attempt: 2, due: -1 }), 2)
  expect(await failing()).toEqual([])
})

test('an event of an account without an endpoint cannot be delivered', async () => {
  expect(await deliver({ id: newId(Date.now()) }, 1)).toEqual({ state: 'ended' })
})
