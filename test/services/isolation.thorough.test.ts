import { readdirSync } from 'node:fs'
import { type DescMethodUnary, type DescService, fromJson, type JsonObject, toJson } from '@bufbuild/protobuf'
import { type Client, ConnectError, createClient } from '@connectrpc/connect'
import { createGrpcTransport } from '@connectrpc/connect-node'
import { expect, test } from 'vitest'
import { listAccounts } from '../../server/directory/accounts.ts'
import { createDomain } from '../../server/domains/domains.ts'
import { bindingsOf } from '../../server/http/rest/bindings.ts'
import { startApi } from './api.ts'
import { IMPORT, mail, probesOf, suppressed, USES } from './probes.ts'

// An identifier of another account is worth nothing: on every route of the contract, over REST and gRPC, its response
// is byte for byte the response of an unknown identifier.

let messageId = ''
let eventId = ''
let domainId = ''
let endpointId = ''
const PROBES = probesOf(
  () => messageId,
  () => eventId,
  () => domainId,
  () => endpointId,
)

const clients = new Map<DescService, Client<DescService>>()
const api = await startApi()
const { db, sealer, clock } = api.world
const stranger = (await listAccounts(db)).find(({ name }) => name === 'Stranger')
await createDomain(
  { db, sealer, clock },
  { accountId: stranger!.id, name: 'stranger.test', status: 'verified', warmsUp: false },
)
const methods = await methodsByOperation()
const transport = createGrpcTransport({ baseUrl: api.url })
for (const { parent } of methods.values()) clients.set(parent, createClient(parent, transport))
await fillOtherAccount()

/** Creates everything that the probes ask for. */
async function fillOtherAccount(): Promise<void> {
  const webhook = { url: 'https://hooks.example.net/verdict' }
  endpointId = (await api.call('PUT', '/api/v1/webhook', { body: webhook })).json.endpoint_id
  const letter = (tenant_id: string) => mail({ to: ['ann@example.net'], from: 'hello@example.test', tenant_id })
  for (const protocol of ['REST', 'gRPC']) {
    const key = (use: string) => ({ 'idempotency-key': `their-${use}-${protocol}` })
    messageId = (await api.send(letter('acme-1'), key('send'))).json.message_id
    await api.call('POST', '/api/v1/emails/validate', { body: letter('acme-1'), headers: key('validate') })
    await api.call('POST', '/api/v1/emails/batch', { body: { emails: [letter('acme-2')] }, headers: key('batch') })
  }
  eventId = (await api.call('GET', `/api/v1/events?message_id=${messageId}`)).json.events[0].event_id
  const { db, sealer, clock, account } = api.world
  await createDomain({ db, sealer, clock }, { accountId: account.id, name: 'theirs.test', status: 'verified' })
  domainId = (await api.call('GET', '/api/v1/domains')).json.domains[0].domain_id
  const emails = USES.flatMap((use) => [suppressed(use).theirs('REST'), suppressed(use).theirs('gRPC')])
  for (const tenant_id of [undefined, 'acme-1']) {
    const { json } = await api.call('POST', '/api/v1/suppression/import', {
      body: { emails, tenant_id, import_id: IMPORT.theirs() },
    })
    expect(json.imported).toBe(emails.length)
  }
}

/** Every method of every service, by its verb and path over REST. */
async function methodsByOperation(): Promise<Map<string, DescMethodUnary>> {
  const folder = new URL('../../gen/verdict/v1/', import.meta.url)
  const modules = await Promise.all(readdirSync(folder).map((file) => import(new URL(file, folder).href)))
  const services = modules.flatMap((module) => Object.values(module) as DescService[])
  const bindings = bindingsOf(services.filter(({ kind }) => kind === 'service'))
  // A stream is not served over REST. Its filters are those of the changes.
  const unary = services.flatMap(({ methods }) => methods ?? []).filter(({ methodKind }) => methodKind === 'unary')
  expect(bindings).toHaveLength(unary.length)
  return new Map(bindings.map(({ verb, path, method }) => [`${verb} ${path}`, method as DescMethodUnary]))
}

interface Answered {
  status: number
  headers: Headers
  text: string
}

const EVERY = { 'x-request-id': 'r' }

async function overRest(operation: string, request: JsonObject, headers: Record<string, string>): Promise<Answered> {
  const [verb, template] = operation.split(' ') as [string, string]
  const rest = { ...request }
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name) => {
    const value = String(rest[name])
    delete rest[name]
    return encodeURIComponent(value)
  })
  const key = api.keys.stranger
  if (verb === 'POST' || verb === 'PATCH')
    return api.call(verb, path, { key, headers: { ...EVERY, ...headers }, body: rest })
  const query = new URLSearchParams(rest as Record<string, string>)
  return api.call(verb, `${path}?${query}`, { key, headers: { ...EVERY, ...headers } })
}

async function overGrpc(operation: string, request: JsonObject, headers: Record<string, string>): Promise<Answered> {
  const method = methods.get(operation)!
  const client = clients.get(method.parent) as unknown as Record<string, (...args: unknown[]) => Promise<never>>
  let metadata = new Headers()
  const options = {
    headers: { authorization: `Bearer ${api.keys.stranger}`, ...EVERY, ...headers },
    onHeader: (headers: Headers) => {
      metadata = headers
    },
  }
  try {
    const response = await client[method.localName]!(fromJson(method.input, request), options)
    return { status: 0, headers: metadata, text: JSON.stringify(toJson(method.output, response)) }
  } catch (error) {
    const { code, rawMessage, details } = ConnectError.from(error)
    const bytes = details.map(
      (detail) => 'value' in detail && Buffer.from(detail.value as Uint8Array).toString('latin1'),
    )
    return { status: code, headers: metadata, text: JSON.stringify({ rawMessage, bytes }) }
  }
}

/** Fields that depend on the time or on the request alone. */
const OWN_HEADERS = /^(date|content-length|x-ratelimit-(remaining|reset))$/

/** A response without the parts that differ in every response: ids, times and the value itself. */
function shapeOf({ status, headers, text }: Answered, value: string) {
  const plain = text
    .replaceAll(value, 'VALUE')
    .replaceAll(/\b(msg|evt|dsp|dom|imp)_[0-9a-z]{26}\b/g, '$1')
    .replaceAll(/\bv\d{8}-[0-9a-f]{8}\b/g, 'SELECTOR')
    .replaceAll(/\bp=[A-Za-z0-9+/]+",?|"[A-Za-z0-9+/]{100,}"/g, 'KEY')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/"(duration_ms|durationMs)":\d+/g, '"$1":0')
    .replaceAll(/"timings":\{[^}]*\}(,"reused":true)?/g, '"timings":{}')
  return { status, headers: [...headers].filter(([name]) => !OWN_HEADERS.test(name)), text: plain }
}

const whatTheOtherHas = async () => {
  const paths = [
    '/api/v1/suppression?limit=100',
    '/api/v1/events',
    `/api/v1/events/${eventId}`,
    `/api/v1/emails/${messageId}`,
    '/api/v1/webhook',
    '/api/v1/domains',
  ]
  return Promise.all(paths.map(async (path) => (await api.call('GET', path)).text))
}

test('every method, and every operation of the OpenAPI document that takes a key, is probed', async () => {
  const { json } = await api.call('GET', '/api/v1/openapi.json')
  const operations = Object.entries(json.paths as Record<string, Record<string, { security?: [] }>>).flatMap(
    ([path, verbs]) =>
      Object.entries(verbs)
        .filter(([, { security }]) => security?.length !== 0)
        .map(([verb]) => `${verb.toUpperCase()} ${path}`),
  )
  expect(Object.keys(PROBES).sort()).toEqual(operations.sort())
  expect([...methods.keys()].sort()).toEqual(operations.sort())
  // Each of them is probed with every field that names something.
  for (const [operation, { input }] of methods) {
    const names = input.fields.filter(({ message }) => !message).map(({ name }) => name)
    const probed = PROBES[operation]!.map(({ what }) => what)
    expect(probed, operation).toEqual(
      expect.arrayContaining(names.filter((name) => /^(id|.*_id|domain|emails?|recipient)$/.test(name))),
    )
  }
})

const CASES = Object.entries(PROBES).flatMap(([operation, probes]) =>
  (['REST', 'gRPC'] as const).flatMap((protocol) => probes.map((probe) => ({ operation, protocol, ...probe }))),
)

test.each(CASES)(
  '$protocol $operation: the $what of another account is an unknown one',
  async ({ operation, protocol, theirs, nobodys, request, headers }) => {
    const before = await whatTheOtherHas()
    const ask = async (value: string) => {
      const call = protocol === 'REST' ? overRest : overGrpc
      return shapeOf(await call(operation, request(value), headers?.(value) ?? {}), value)
    }
    const nothing = await ask(nobodys(protocol))
    expect(await ask(theirs(protocol))).toEqual(nothing)
    expect(await whatTheOtherHas()).toEqual(before)
  },
)

test('the calls of an account set, test, rotate and delete its own endpoint only', async () => {
  const mine = (await api.call('GET', '/api/v1/webhook')).text
  const key = api.keys.stranger
  const path = '/api/v1/webhook'
  expect((await api.call('GET', path, { key })).status).toBe(404)
  for (const [verb, rest, body, status] of [
    ['POST', '/test', undefined, 409],
    ['POST', '/secret/rotate', undefined, 404],
    ['DELETE', '', undefined, 404],
    ['PUT', '', { url: 'https://hooks.example.net/theirs' }, 200],
    ['POST', '/secret/rotate', undefined, 200],
    ['DELETE', '', undefined, 200],
  ] as const) {
    expect((await api.call(verb, path + rest, { key, body })).status, `${verb} ${rest}`).toBe(status)
    expect((await api.call('GET', path)).text).toBe(mine)
  }
})

test('the limits and lists of one account show nothing of another', async () => {
  const { json } = await api.call('GET', '/api/v1/suppression?limit=1')
  const events = (await api.call('GET', '/api/v1/events?limit=1')).json
  for (const path of [
    '/api/v1/account',
    '/api/v1/limits',
    '/api/v1/domains',
    `/api/v1/suppression?cursor=${encodeURIComponent(json.next_cursor)}`,
    `/api/v1/events?cursor=${encodeURIComponent(events.next_cursor)}`,
  ]) {
    const { status, text } = await api.call('GET', path, { key: api.keys.stranger })
    expect(status, path).toBe(200)
    expect(text, path).not.toMatch(/example\.test|acme-1|a-(remove|list)-|ann@/)
  }
})
