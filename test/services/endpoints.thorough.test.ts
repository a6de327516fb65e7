import { afterEach, expect, test } from 'vitest'
import { WebhookService } from '../../gen/verdict/v1/webhooks_pb.ts'
import { asc, eq } from '../../server/db/drizzle.ts'
import { publicId } from '../../server/db/ids.ts'
import { openDispatches, webhookUrls } from '../../server/db/schema.ts'
import { startReceiver } from '../harness/receiver.ts'
import { untilEnd } from '../harness/until-end.ts'
import { startApi, uuidOf } from './api.ts'

// Several endpoints of one account.

const api = await startApi()
const receiver = untilEnd(await startReceiver())
afterEach(async () => {
  for (const { endpoint_id } of await list()) await api.call('DELETE', `${PATH}/${endpoint_id}`)
  receiver.script = {}
  receiver.requests.length = 0
})

const PATH = '/api/v1/webhooks'
const list = async () => (await api.call('GET', PATH)).json.endpoints as Shown[]
const add = async (path: string, more: object = {}) =>
  (await api.call('POST', PATH, { body: { url: receiver.url + path, ...more } })).json as Shown
const change = (id: string, body: object) => api.call('PATCH', `${PATH}/${id}`, { body })

interface Shown extends Record<string, unknown> {
  endpoint_id: string
  url: string
  secret: string
}

async function eventOf(message: object = {}, headers?: Record<string, string>): Promise<string> {
  const { message_id } = (await api.send(message, headers)).json
  return (await api.call('GET', `/api/v1/events?message_id=${message_id}`)).json.events[0].event_id
}
const event = async (id: string) => (await api.call('GET', `/api/v1/events/${id}`)).json
/** Makes an attempt of a dispatch now. */
const attempt = (dispatchId: string, number = 1) =>
  api.attemptOnce({ dispatchId: uuidOf(dispatchId), number, nextDelayMs: 60_000, early: true })
/** The endpoints that an event was dispatched to when it was stored. */
const dispatchedTo = async (id: string) => {
  const rows = await api.world.db
    .select({ endpointId: openDispatches.endpointId })
    .from(openDispatches)
    .where(eq(openDispatches.eventId, uuidOf(id)))
    .orderBy(asc(openDispatches.endpointId))
  return rows.map(({ endpointId }) => publicId('whk', endpointId))
}

test('an endpoint is added with its filters and a secret that is shown once', async () => {
  const filters = { events: ['email.feedback'], statuses: ['bounced'], tags: ['a', 'b'], tenant_ids: ['t'] }
  const { secret, ...shown } = await add('/1', { description: 'warehouse', ...filters, domains: ['Example.COM'] })
  expect(secret).toMatch(/^whsec_/)
  expect(shown).toMatchObject({
    endpoint_id: expect.stringMatching(/^whk_[0-9a-z]{26}$/),
    url: `${receiver.url}/1`,
    description: 'warehouse',
    ...filters,
    domains: ['example.com'],
    disabled: false,
    first: false,
  })
  expect(await list()).toEqual([shown])
  expect((await api.call('GET', `${PATH}/${shown.endpoint_id}`)).json).toEqual(shown)
})

test('endpoints are listed from the oldest to the newest, with the first one among them', async () => {
  const one = await add('/1')
  const { json: first } = await api.call('PUT', '/api/v1/webhook', { body: { url: `${receiver.url}/first` } })
  const two = await add('/2')
  expect(await list()).toMatchObject([
    { endpoint_id: one.endpoint_id, first: false },
    { endpoint_id: first.endpoint_id, first: true },
    { endpoint_id: two.endpoint_id, first: false },
  ])
})

test('without PUT there is no first endpoint, whatever the account has', async () => {
  await add('/1')
  expect(await api.call('GET', '/api/v1/webhook')).toMatchObject({ status: 404 })
  expect(await api.call('DELETE', '/api/v1/webhook')).toMatchObject({ status: 404 })
  const put = await api.call('PUT', '/api/v1/webhook', { body: { url: `${receiver.url}/first` } })
  expect(put.json).toMatchObject({ url: `${receiver.url}/first`, secret: expect.any(String) })
  expect(await list()).toHaveLength(2)
})

test('an eleventh endpoint is refused, by POST and by PUT', async () => {
  for (let i = 0; i < 10; i++) await add(`/${i}`)
  for (const [method, path] of [
    ['POST', PATH],
    ['PUT', '/api/v1/webhook'],
  ] as const) {
    const { status, json } = await api.call(method, path, { body: { url: `${receiver.url}/11` } })
    expect([status, json.error, json.details[0]]).toEqual([
      400,
      'invalid_payload',
      { field: 'url', message: expect.stringContaining('at most 10') },
    ])
  }
  expect(await list()).toHaveLength(10)
})

test('of concurrent calls that add the tenth endpoint one succeeds', async () => {
  for (let i = 0; i < 9; i++) await add(`/${i}`)
  const calls = [1, 2, 3, 4].map((i) => api.call('POST', PATH, { body: { url: `${receiver.url}/new${i}` } }))
  const statuses = (await Promise.all(calls)).map(({ status }) => status)
  expect(statuses.toSorted()).toEqual([200, 400, 400, 400])
})

test('a URL that another endpoint has is refused, however it is written', async () => {
  const { endpoint_id } = await add('/hook?a=1')
  const same = `${receiver.url.replace('http', 'HTTP')}/./hook?a=1`
  const other = await add('/other')
  const refused = { field: 'url', message: expect.stringContaining(endpoint_id) }
  expect((await api.call('POST', PATH, { body: { url: same } })).json.details).toEqual([refused])
  expect((await api.call('PUT', '/api/v1/webhook', { body: { url: same } })).json.details).toEqual([refused])
  expect((await change(other.endpoint_id, { url: same })).json.details).toEqual([refused])
  expect(await change(endpoint_id, { url: same })).toMatchObject({ status: 200, json: { url: same } })
})

test.each([
  [{ events: [] }, 'events'],
  [{ statuses: [] }, 'statuses'],
  [{ events: ['email.opened'] }, 'events[0]'],
  [{ statuses: ['sent'] }, 'statuses[0]'],
  [{ tags: [''] }, 'tags[0]'],
  [{ tags: Array.from({ length: 21 }, (_, i) => `t${i}`) }, 'tags'],
  [{ tenant_ids: ['a\nb'] }, 'tenant_ids[0]'],
  [{ domains: ['not a domain'] }, 'domains[0]'],
  [{ description: 'x'.repeat(201) }, 'description'],
  [{ url: 'ftp://example.com/' }, 'url'],
  [{ url: '' }, 'url'],
  [{ update_mask: { paths: ['url'] } }, 'update_mask'],
  [{ endpoint_id: 'whk_x' }, 'endpoint_id'],
])('a change to %j is refused, with the name of the field', async (body, field) => {
  const { endpoint_id } = await add('/1')
  const { status, json } = await change(endpoint_id, body)
  expect([status, json.error, json.details[0].field]).toEqual([400, 'invalid_payload', field])
})

test('a change changes the members that it has, and [] removes a filter', async () => {
  const {
    endpoint_id,
    secret: _,
    ...before
  } = await add('/1', { description: 'a', tags: ['a'], domains: ['example.com'] })
  expect((await change(endpoint_id, {})).json).toMatchObject(before)
  expect((await change(endpoint_id, { disabled: true, tags: [] })).json).toMatchObject({
    disabled: true,
    description: 'a',
  })
  const { tags, ...rest } = (await list())[0]!
  expect([tags, rest.domains]).toEqual([undefined, ['example.com']])
  const { description } = (await change(endpoint_id, { description: '', disabled: false })).json
  expect([description, (await list())[0]!.disabled]).toEqual([undefined, false])
})

test('over gRPC the mask names what is changed', async () => {
  const { endpoint_id: endpointId } = await add('/1', { description: 'a', tags: ['a'], domains: ['example.com'] })
  const client = api.grpc(WebhookService)
  const masked = { endpointId, description: 'b', updateMask: { paths: ['tags'] } }
  expect(await client.updateEndpoint(masked)).toMatchObject({
    description: 'a',
    tags: [],
    domains: ['example.com'],
  })
  expect(await client.updateEndpoint({ endpointId, description: 'b' })).toMatchObject({
    description: 'b',
    domains: ['example.com'],
  })
  // As if there were none: a program that made an empty mask would see its change ignored.
  const empty = { endpointId, description: 'c', updateMask: { paths: [] } }
  expect(await client.updateEndpoint(empty)).toMatchObject({ description: 'c', domains: ['example.com'] })
  const wrong = client.updateEndpoint({ endpointId, updateMask: { paths: ['secret'] } })
  await expect(wrong).rejects.toThrow('update_mask.paths[0]')
})

test('ids of other accounts and unknown ids are not found', async () => {
  const { endpoint_id } = await add('/1')
  const { json } = await api.call('POST', PATH, { body: { url: `${receiver.url}/theirs` }, key: api.keys.stranger })
  for (const id of [json.endpoint_id, endpoint_id.replace('whk', 'evt'), 'x']) {
    for (const [method, path] of [
      ['GET', ''],
      ['PATCH', ''],
      ['DELETE', ''],
      ['POST', '/test'],
      ['POST', '/secret/rotate'],
    ] as const) {
      const { status } = await api.call(method, `${PATH}/${id}${path}`, method === 'PATCH' ? { body: {} } : {})
      expect([id, method, path, status]).toEqual([id, method, path, 404])
    }
  }
  await api.call('DELETE', `${PATH}/${json.endpoint_id}`, { key: api.keys.stranger })
})

test('an event is dispatched once to each enabled endpoint that asks for it', async () => {
  const { json: first } = await api.call('PUT', '/api/v1/webhook', { body: { url: `${receiver.url}/first` } })
  const all = await add('/all')
  const tag = await add('/tag', { tags: ['shipped'] })
  const tenant = await add('/tenant', { tenant_ids: ['acme'] })
  const domain = await add('/domain', { domains: ['elsewhere.test'] })
  const bounced = await add('/bounced', { statuses: ['bounced'] })
  const disabled = await add('/disabled', { disabled: true })
  const always = [first.endpoint_id, all.endpoint_id]
  expect(await dispatchedTo(await eventOf())).toEqual(always.toSorted())
  expect(await dispatchedTo(await eventOf({ tag: 'shipped' }))).toEqual([...always, tag.endpoint_id].toSorted())
  expect(await dispatchedTo(await eventOf({ tenant_id: 'acme', tag: 'other' }))).toEqual(
    [...always, tenant.endpoint_id].toSorted(),
  )
  await change(domain.endpoint_id, { domains: ['example.test'] })
  expect(await dispatchedTo(await eventOf())).toEqual([...always, domain.endpoint_id].toSorted())
  await change(bounced.endpoint_id, { statuses: ['bounced', 'delivered'] })
  await change(disabled.endpoint_id, { disabled: false })
  expect(await dispatchedTo(await eventOf())).toEqual(
    [...always, domain.endpoint_id, bounced.endpoint_id, disabled.endpoint_id].toSorted(),
  )
  expect(await dispatchedTo(await eventOf({}, { 'x-service-sandbox': 'true' }))).toEqual([])
})

test('all endpoints get the same bytes, each with its own signature', async () => {
  const { json: first } = await api.call('PUT', '/api/v1/webhook', { body: { url: `${receiver.url}/first` } })
  const other = await add('/other')
  const id = await eventOf()
  const { dispatches } = await event(id)
  expect(dispatches).toMatchObject([
    { dispatch_id: publicId('dsp', uuidOf(id)), endpoint_id: first.endpoint_id, kind: 'original' },
    { endpoint_id: other.endpoint_id, kind: 'original' },
  ])
  for (const { dispatch_id } of dispatches) await attempt(dispatch_id)
  const [a, b] = receiver.requests
  expect(receiver.requests.map(({ path }) => path)).toEqual(['/hook/first', '/hook/other'])
  expect(a!.body.equals(b!.body)).toBe(true)
  expect(a!.headers['webhook-signature']).not.toBe(b!.headers['webhook-signature'])
})

test('an event is acknowledged when the last of the endpoints that it was dispatched to has acknowledged it', async () => {
  const one = await add('/1')
  const two = await add('/2')
  const id = await eventOf()
  const { dispatches } = await event(id)
  receiver.script = ({ path }) => (path === '/hook/2' ? { status: 503 } : {})
  for (const { dispatch_id } of dispatches) await attempt(dispatch_id)
  expect(await event(id)).not.toHaveProperty('acknowledged_at')
  receiver.script = {}
  const ofTwo = dispatches.find(({ endpoint_id }: Shown) => endpoint_id === two.endpoint_id)
  await attempt(ofTwo.dispatch_id, 2)
  const { acknowledged_at, attempts } = await event(id)
  const last = (await event(id)).dispatches.find(({ endpoint_id }: Shown) => endpoint_id === two.endpoint_id)
  expect([acknowledged_at, attempts]).toEqual([last.attempts[1].finished_at, 3])
  // The endpoint that acknowledged it last does not exist any more.
  await api.call('DELETE', `${PATH}/${two.endpoint_id}`)
  const ofOne = (await event(id)).dispatches.find(({ endpoint_id }: Shown) => endpoint_id === one.endpoint_id)
  expect((await event(id)).acknowledged_at).toBe(ofOne.attempts[0].finished_at)
})

test('a replay goes to every enabled endpoint that asks for the event, or to all enabled ones', async () => {
  const asking = await add('/asking')
  const other = await add('/other', { statuses: ['rejected'] })
  const disabled = await add('/disabled', { disabled: true })
  const id = await eventOf()
  const replay = (body?: object) => api.call('POST', `/api/v1/events/${id}/replay`, { body })
  const to = ({ json }: { json: { dispatches: Shown[] } }) => json.dispatches.map(({ endpoint_id }) => endpoint_id)
  expect(to(await replay())).toEqual([asking.endpoint_id])
  await change(asking.endpoint_id, { statuses: ['rejected'] })
  const toAll = await replay({})
  expect(to(toAll)).toEqual([asking.endpoint_id, other.endpoint_id])
  expect(toAll.json.dispatch_id).toBe(toAll.json.dispatches[0].dispatch_id)
  expect(to(await replay({ endpoint_id: disabled.endpoint_id }))).toEqual([disabled.endpoint_id])
  const theirs = await api.call('POST', PATH, { body: { url: `${receiver.url}/theirs` }, key: api.keys.stranger })
  for (const endpoint_id of ['whk_unknown', theirs.json.endpoint_id])
    expect(await replay({ endpoint_id })).toMatchObject({ status: 404 })
  await api.call('DELETE', `${PATH}/${theirs.json.endpoint_id}`, { key: api.keys.stranger })
  for (const { endpoint_id } of [asking, other]) await change(endpoint_id, { disabled: true })
  expect(await replay()).toMatchObject({ status: 409, json: { error: 'webhook_not_configured' } })
})

test.each(['events/evt_01jx3c7w5fe9c8m0t1q2r3s4v5', 'messages/msg_01jx3c7w5fe9c8m0t1q2r3s4v5'])(
  'an empty endpoint_id in a replay is refused, also for an expired id (%s)',
  async (path) => {
    const { status, json } = await api.call('POST', `/api/v1/${path}/replay`, { body: { endpoint_id: '' } })
    expect([status, json.details]).toEqual([400, [{ field: 'endpoint_id', message: expect.any(String) }]])
  },
)

test('a replay of a message sends each endpoint the kinds that it asks for, whatever its other filters are', async () => {
  await add('/feedback', { events: ['email.feedback'] })
  const bounces = await add('/bounces', { statuses: ['bounced'], tags: ['never'] })
  const { message_id } = (await api.send({ to: ['ann@example.net', 'bob@example.net'] })).json
  const { json } = await api.call('POST', `/api/v1/messages/${message_id}/replay`)
  expect(json.count).toBe(2)
  for (const { dispatches } of json.events) expect(dispatches).toMatchObject([{ endpoint_id: bounces.endpoint_id }])
})

test('deleting an endpoint cancels only its own dispatches', async () => {
  const one = await add('/1')
  const two = await add('/2')
  const id = await eventOf()
  await api.call('DELETE', `${PATH}/${one.endpoint_id}`)
  const states = (await event(id)).dispatches.map(({ endpoint_id, state }: Shown) => [endpoint_id, state])
  expect(new Map(states)).toEqual(
    new Map([
      [one.endpoint_id, 'cancelled'],
      [two.endpoint_id, 'waiting'],
    ]),
  )
})

test('a test goes to the endpoint it names, also to a disabled one, and a rotation changes its secret alone', async () => {
  const one = await add('/1', { disabled: true })
  const two = await add('/2')
  expect((await api.call('POST', `${PATH}/${one.endpoint_id}/test`)).json).toMatchObject({ outcome: 'acked' })
  expect(receiver.requests.map(({ path }) => path)).toEqual(['/hook/1'])
  const { json } = await api.call('POST', `${PATH}/${two.endpoint_id}/secret/rotate`)
  expect([json.secret === two.secret, json.previous_secret_until]).toEqual([false, expect.any(String)])
  expect((await list())[0]).not.toHaveProperty('previous_secret_until')
})

test('the URLs that an endpoint has had are kept, with the time of their end', async () => {
  const { endpoint_id } = await add('/old')
  await change(endpoint_id, { url: `${receiver.url}/new` })
  const { version, url, replacedAt } = webhookUrls
  const urls = () =>
    api.world.db
      .select({ version, url, replacedAt })
      .from(webhookUrls)
      .where(eq(webhookUrls.endpointId, uuidOf(endpoint_id)))
      .orderBy(asc(version))
  expect(await urls()).toMatchObject([
    { version: 1, url: `${receiver.url}/old`, replacedAt: expect.any(Date) },
    { version: 2, url: `${receiver.url}/new`, replacedAt: null },
  ])
  await api.call('DELETE', `${PATH}/${endpoint_id}`)
  expect(await urls()).toMatchObject([{}, { replacedAt: expect.any(Date) }])
})
