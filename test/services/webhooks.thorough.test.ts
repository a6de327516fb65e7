import { createHmac } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { afterEach, expect, test } from 'vitest'
import { DeliveryStatus } from '../../gen/verdict/v1/outcomes_pb.ts'
import { WebhookService } from '../../gen/verdict/v1/webhooks_pb.ts'
import { eq, sql } from '../../server/db/drizzle.ts'
import { parsePublicId } from '../../server/db/ids.ts'
import { attempts, events, openDispatches, webhookEndpoints, webhookHours } from '../../server/db/schema.ts'
import { type ReceivedRequest, startReceiver } from '../harness/receiver.ts'
import { untilEnd } from '../harness/until-end.ts'
import { startApi, uuidOf } from './api.ts'

const api = await startApi()
const receiver = untilEnd(await startReceiver())
afterEach(async () => {
  await api.call('DELETE', PATH)
  receiver.script = {}
  receiver.requests.length = 0
  api.workflows.cancelled.length = 0
})

const PATH = '/api/v1/webhook'
const get = (key?: string) => api.call('GET', PATH, { key })
const put = (url: string, key?: string) => api.call('PUT', PATH, { body: { url }, key })
const testIt = () => api.call('POST', `${PATH}/test`)
const rotate = () => api.call('POST', `${PATH}/secret/rotate`)

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const ID = expect.stringMatching(/^whk_[0-9a-z]{26}$/)
const SECRET = expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/)
const NO_ATTEMPTS = { acknowledged: 0, failed: 0, success_rate: null, consecutive_failures: 0, waiting: 0 }

const DEFAULT_LISTS = { events: ['email.delivery'], statuses: ['delivered', 'bounced', 'rejected'] }

/** Whether a request's signature by the specification was made with this secret. */
function isSignedWith(secret: string, { headers, body }: ReceivedRequest, header = 'service-signature'): boolean {
  const hash = createHmac('sha256', secret).update(`${headers['service-timestamp']}.`).update(body)
  return hash.digest('hex') === headers[header]
}

test('the first PUT creates the endpoint and shows its secret once', async () => {
  const made = await put(receiver.url)
  const times = { created_at: TIME, updated_at: TIME }
  const endpoint = { endpoint_id: ID, url: receiver.url, ...times, health: NO_ATTEMPTS, ...DEFAULT_LISTS }
  expect([made.status, made.json]).toEqual([200, { ...endpoint, secret: SECRET }])
  const { secret, ...shown } = made.json
  expect((await get()).json).toEqual(shown)
  const rows = await api.world.db.select().from(webhookEndpoints)
  expect(JSON.stringify(rows, (_, value) => value)).not.toContain(secret)
  expect(Buffer.from(rows[0]!.secret).includes(secret)).toBe(false)
})

test('a later PUT changes the URL and keeps the secret', async () => {
  const { secret, created_at } = (await put('https://hooks.example.com/email')).json
  const changed = (await put(receiver.url)).json
  expect(changed).toMatchObject({ url: receiver.url, created_at })
  expect(changed).not.toHaveProperty('secret')
  expect(changed.updated_at > created_at).toBe(true)
  expect((await put(receiver.url)).json).toEqual(changed)
  await testIt()
  expect(isSignedWith(secret, receiver.requests[0]!)).toBe(true)
})

const putLists = (lists: object) => api.call('PUT', PATH, { body: { url: receiver.url, ...lists } })

test('a PUT changes the lists that it contains and leaves the others as they are', async () => {
  const both = ['email.delivery', 'email.feedback']
  const made = (await putLists({ statuses: ['rejected', 'bounced', 'bounced'] })).json
  expect(made).toMatchObject({ events: ['email.delivery'], statuses: ['bounced', 'rejected'] })
  const changed = (await putLists({ events: both.toReversed() })).json
  expect(changed).toMatchObject({ events: both, statuses: ['bounced', 'rejected'] })
  expect(changed.updated_at > made.updated_at).toBe(true)
  expect((await put(receiver.url)).json).toEqual(changed)
  expect((await putLists({ events: both, statuses: null })).json).toEqual(changed)
  expect((await get()).json).toEqual(changed)
  expect((await rotate()).json).toMatchObject({ events: both, statuses: ['bounced', 'rejected'] })
})

test.each([
  [{ events: [] }, 'events', 'must not be empty. To leave it as it is, leave it out'],
  [{ statuses: [] }, 'statuses', 'must not be empty. To leave it as it is, leave it out'],
  [{ events: ['email.delivery', 'email.opened'] }, 'events[1]', 'must be email.delivery or email.feedback'],
  [{ events: ['webhook.test'] }, 'events[0]', 'must be email.delivery or email.feedback'],
  [{ events: 'email.delivery' }, 'events', 'must be a list'],
  [{ statuses: ['sent'] }, 'statuses[0]', 'must be one of delivered, bounced, rejected'],
])('the lists %j are a 400 that names the field, and change nothing', async (lists, field, message) => {
  const { status, json } = await putLists(lists)
  expect([status, json.error, json.details]).toEqual([400, 'invalid_payload', [{ field, message }]])
  expect((await get()).status).toBe(404)
})

test('concurrent PUTs create one endpoint and show one secret', async () => {
  const answers = await Promise.all(Array.from({ length: 8 }, () => put(receiver.url)))
  expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200))
  const secrets = answers.flatMap(({ json }) => json.secret ?? [])
  expect(secrets).toHaveLength(1)
  await testIt()
  expect(isSignedWith(secrets[0], receiver.requests[0]!)).toBe(true)
})

test.each([
  ['', 'is required'],
  ['https://10.0.0.1/', 'must lead to a public address'],
])('the URL %.40s is a 400 that names it', async (url, fault) => {
  const { status, json } = await put(url)
  expect([status, json.error, json.details]).toEqual([400, 'invalid_payload', [{ field: 'url', message: fault }]])
  expect((await get()).status).toBe(404)
})

test('a refused URL does not change the endpoint', async () => {
  const { url } = (await put(receiver.url)).json
  expect((await put('https://127.0.0.1.example.com\\@evil/')).status).toBe(400)
  expect((await get()).json.url).toBe(url)
})

test('without an endpoint there is nothing to read, delete, rotate or test', async () => {
  for (const [call, status, error] of [
    [get, 404, 'not_found'],
    [() => api.call('DELETE', PATH), 404, 'not_found'],
    [rotate, 404, 'not_found'],
    [testIt, 409, 'webhook_not_configured'],
  ] as const) {
    const answer = await call()
    expect([answer.status, answer.json.error]).toEqual([status, error])
    expect(answer.json.message).toBe(
      'This account has no webhook endpoint. Set one: PUT /api/v1/webhook {"url": "https://..."}.',
    )
  }
})

test('each account has its own endpoint', async () => {
  const mine = (await put(receiver.url)).json
  expect((await get(api.keys.stranger)).status).toBe(404)
  const theirs = (await put('https://hooks.example.com/theirs', api.keys.stranger)).json
  expect(theirs.secret).not.toBe(mine.secret)
  await api.call('DELETE', PATH, { key: api.keys.stranger })
  expect((await get()).json.url).toBe(receiver.url)
})

test('a rotation shows a new secret; for 24 hours both secrets sign, then only the new one', async () => {
  const first = (await put(receiver.url)).json.secret
  const { status, json } = await rotate()
  expect([status, json]).toMatchObject([200, { url: receiver.url, secret: SECRET, previous_secret_until: TIME }])
  expect(json.secret).not.toBe(first)
  expect(Date.parse(json.previous_secret_until) - Date.parse(json.updated_at)).toBe(86_400_000)
  const { secret, ...shown } = json
  expect((await get()).json).toEqual(shown)

  await testIt()
  const [during] = receiver.requests as [ReceivedRequest]
  expect(isSignedWith(secret, during)).toBe(true)
  expect(isSignedWith(first, during, 'service-signature-previous')).toBe(true)
  for (const one of [first, secret]) expect(() => new Webhook(one).verify(during.body, during.headers)).not.toThrow()

  await api.world.db.update(webhookEndpoints).set({ previousUntil: sql`now() - interval '1 second'` })
  await testIt()
  const after = receiver.requests[1]!
  expect(after.headers).not.toHaveProperty('service-signature-previous')
  expect(() => new Webhook(first).verify(after.body, after.headers)).toThrow('No matching signature')
  expect((await get()).json).not.toHaveProperty('previous_secret_until')
})

test('concurrent rotations return a secret each, and the last two sign', async () => {
  await put(receiver.url)
  const answers = await Promise.all(Array.from({ length: 4 }, rotate))
  const secrets: string[] = answers.map(({ json }) => json.secret)
  expect(new Set(secrets).size).toBe(4)
  await testIt()
  const signs = (header?: string) => secrets.filter((secret) => isSignedWith(secret, receiver.requests[0]!, header))
  expect([signs().length, signs('service-signature-previous').length]).toEqual([1, 1])
})

test('a test posts a signed event at once and returns its outcome', async () => {
  const { secret } = (await put(receiver.url)).json
  receiver.script = { status: 200, body: 'thank you' }
  const { status, json } = await testIt()
  expect([status, json]).toEqual([
    200,
    {
      event_id: expect.stringMatching(/^evt_[0-9a-z]{26}$/),
      dispatched_at: TIME,
      outcome: 'acked',
      status_code: 200,
      duration_ms: expect.any(Number),
      phases: expect.objectContaining({ head_ms: expect.any(Number) }),
      response_excerpt: 'thank you',
    },
  ])
  const [request] = receiver.requests as [ReceivedRequest]
  expect(JSON.parse(request.body.toString())).toEqual({
    event: 'webhook.test',
    event_id: json.event_id,
    timestamp: Math.floor(Date.parse(json.dispatched_at) / 1_000),
  })
  expect(request.headers).toMatchObject({ 'content-type': 'application/json', 'service-attempt': '1' })
  expect(isSignedWith(secret, request)).toBe(true)
  expect(() => new Webhook(secret).verify(request.body, request.headers)).not.toThrow()
})

test.each([
  ['204', { status: 204 }, { outcome: 'success_but_not_200', status_code: 204 }],
  ['301', { status: 301, headers: { location: '/' } }, { outcome: 'not_200', status_code: 301 }],
  [
    '500 and a long text',
    { status: 500, body: 'x'.repeat(5_000) },
    { outcome: 'not_200', status_code: 500, response_excerpt: 'x'.repeat(1_024), response_cut: true },
  ],
  ['nothing', { fault: 'close' as const }, { outcome: 'connect' }],
])('an endpoint that answers %s has not acknowledged', async (_, script, expected) => {
  await put(receiver.url)
  receiver.script = script
  const { status, json } = await testIt()
  expect([status, json]).toEqual([200, expect.objectContaining(expected)])
})

test('the outcome of an unreachable endpoint says that nothing listens, and nothing about our network', async () => {
  const gone = await startReceiver()
  await gone.close()
  await put(gone.url)
  const { text, json } = await testIt()
  expect(json.outcome).toBe('connect')
  expect(json.detail).toBe('The connection was refused: nothing listens at this host and port. (ECONNREFUSED)')
  expect(text).not.toMatch(/127\.0\.0\.1|errno/)
})

test('a test is not stored and not counted', async () => {
  await put(receiver.url)
  receiver.script = { status: 500 }
  await testIt()
  expect((await get()).json.health).toEqual(NO_ATTEMPTS)
  for (const table of [openDispatches, attempts, events]) expect(await api.world.db.$count(table)).toBe(0)
})

/** Creates a delivered event with a waiting dispatch and returns its id. */
async function waitingEvent(): Promise<string> {
  const { message_id } = (await api.send()).json
  return (await api.call('GET', `/api/v1/events?message_id=${message_id}`)).json.events[0].event_id
}

const attempt = (shown: string, number: number) =>
  api.attemptOnce({ dispatchId: uuidOf(shown), number, nextDelayMs: 0, early: true })

test('health shows attempts, failures since the last success, and waiting events', async () => {
  await put(receiver.url)
  const [first, second] = [await waitingEvent(), await waitingEvent()]
  // A lease: the first attempts are running.
  await api.world.db.update(openDispatches).set({ leaseUntil: sql`now() + interval '20 seconds'` })
  expect((await get()).json.health).toEqual(NO_ATTEMPTS)
  await api.world.db.update(openDispatches).set({ leaseUntil: null })
  expect((await get()).json.health).toEqual({ ...NO_ATTEMPTS, waiting: 2, oldest_waiting_at: TIME })
  receiver.script = { status: 500 }
  await attempt(first, 1)
  receiver.script = {}
  await attempt(first, 2)
  receiver.script = { status: 500 }
  await attempt(second, 1)
  await attempt(second, 2)
  const { health } = (await get()).json
  expect(health).toEqual({
    acknowledged: 1,
    failed: 3,
    success_rate: 0.25,
    last_success_at: TIME,
    last_failure_at: TIME,
    consecutive_failures: 2,
    waiting: 1,
    oldest_waiting_at: TIME,
  })
  expect(health.last_failure_at > health.last_success_at).toBe(true)
})

test('consecutive failures add up over all hours since the last success; everything else counts 24 hours', async () => {
  await put(receiver.url)
  const hours = [
    { ago: 30, acknowledged: 5, failed: 9, since: 4 },
    { ago: 26, acknowledged: 0, failed: 7, since: 7 },
    { ago: 23, acknowledged: 0, failed: 2, since: 2 },
    { ago: 0, acknowledged: 0, failed: 1, since: 1 },
  ]
  for (const { ago, acknowledged, failed, since } of hours) {
    const hour = sql`date_trunc('hour', now(), 'UTC') - ${ago} * interval '1 hour'`
    const counts = { acknowledged, failed, failedSince: since, lastFailedAt: sql`now()` }
    const endpointId = parsePublicId('whk', (await get()).json.endpoint_id)!
    const ids = { accountId: api.world.account.id, endpointId }
    await api.world.db.insert(webhookHours).values({ ...ids, hour, ...counts })
  }
  const { health } = (await get()).json
  expect(health).toMatchObject({ acknowledged: 0, failed: 3, success_rate: 0, consecutive_failures: 14 })
})

test('deleting the endpoint cancels waiting dispatches, in its commit and in Temporal', async () => {
  await put(receiver.url)
  const [tried, untried] = [await waitingEvent(), await waitingEvent()]
  receiver.script = { status: 503 }
  await attempt(tried, 1)
  await api.world.db
    .update(openDispatches)
    .set({ workflowId: 'webhook-1' })
    .where(eq(openDispatches.id, uuidOf(tried)))
  const replayed = (await api.call('POST', `/api/v1/events/${untried}/replay`)).json.dispatch_id
  expect(await api.call('DELETE', PATH)).toMatchObject({ status: 200, json: {} })

  const detail = async (id: string) => (await api.call('GET', `/api/v1/events/${id}`)).json.dispatches
  expect(await detail(tried)).toMatchObject([
    { kind: 'original', state: 'cancelled', ended_at: TIME, workflow_id: 'webhook-1', attempts: [{ number: 1 }] },
  ])
  expect(await detail(untried)).toMatchObject([
    { kind: 'original', state: 'cancelled', attempts: [] },
    { kind: 'replay', state: 'cancelled', dispatch_id: replayed },
  ])
  expect(api.workflows.cancelled.sort()).toEqual([`replay-${untried}-${replayed.slice(-10)}`, 'webhook-1'])
  receiver.requests.length = 0
  expect(await attempt(tried, 2)).toEqual({ state: 'ended' })
  expect(receiver.requests).toEqual([])
  // A later endpoint starts anew, with another secret and its own figures.
  expect((await put(receiver.url)).json).toMatchObject({ secret: SECRET, health: NO_ATTEMPTS })
})

test('deleting the endpoint does not wait for Temporal', async () => {
  await put(receiver.url)
  const eventId = await waitingEvent()
  await api.call('POST', `/api/v1/events/${eventId}/replay`)
  const { cancel } = api.workflows
  api.workflows.cancel = () => Promise.reject(new Error('UNAVAILABLE'))
  expect((await api.call('DELETE', PATH)).status).toBe(200)
  api.workflows.cancel = cancel
  await expect
    .poll(() => api.errors.join())
    .toContain('a workflow could not be cancelled: it ends at its next attempt: UNAVAILABLE')
})

test('gRPC does the same', async () => {
  const client = api.grpc(WebhookService)
  const made = await client.putWebhook({ url: receiver.url })
  expect(made.secret).toEqual(SECRET)
  expect(await client.testWebhook({})).toMatchObject({ statusCode: 200 })
  const lists = { events: ['email.feedback'], statuses: [DeliveryStatus.BOUNCED] }
  expect(await client.putWebhook({ url: receiver.url, ...lists })).toMatchObject(lists)
  // Protobuf has no difference between an empty list and an absent one.
  expect(await client.putWebhook({ url: receiver.url, events: [] })).toMatchObject(lists)
  await expect(client.putWebhook({ url: receiver.url, statuses: [9 as DeliveryStatus] })).rejects.toThrow('statuses[0]')
  expect((await client.rotateSecret({})).secret).not.toBe(made.secret)
  expect((await client.getWebhook({})).health).toMatchObject({ waiting: 0 })
  await client.deleteWebhook({})
  await expect(client.getWebhook({})).rejects.toThrow('has no webhook endpoint')
})
