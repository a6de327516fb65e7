import { createServiceImplSpec } from '@connectrpc/connect'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { Health } from '../../gen/grpc/health/v1/health_pb.ts'
import { createOpenCalls } from '../../server/access/open-calls.ts'
import type { FeedbackEvent, StoredEvent } from '../../server/db/delivery-event.ts'
import { createApp } from '../../server/http/app.ts'
import { payloadOf } from '../../server/webhooks/attempt/payload.ts'
import { untilEnd } from '../harness/until-end.ts'
import { newEvent } from '../webhooks/rows.ts'
import { document, faultsAgainst } from './documented.ts'
import { KEY, startGateway } from './gateway.ts'
import { ask } from './requests.ts'

const gateway = untilEnd(await startGateway())

interface Operation {
  operationId: string
  tags: string[]
  parameters?: { name: string; in: string; example?: unknown; schema?: unknown }[]
  requestBody?: { content: { 'application/json': { example: unknown } } }
  responses: Record<
    string,
    { headers: object; content: { 'application/json': { example?: unknown; examples?: object } } }
  >
  security?: unknown[]
}

const operations = Object.entries(document.paths as Record<string, Record<string, Operation>>).flatMap(
  ([path, verbs]) => Object.entries(verbs).map(([verb, operation]) => ({ path, verb, operation })),
)
/** Headers of a 200 that only the response to a repeated request has. */
const ON_REPEATS = ['Idempotent-Replayed', 'Idempotency-Mismatch']
const escaped = (name: string) => name.replaceAll('~', '~0').replaceAll('/', '~1')

test('every path of REST is in the document, and the document has no other', () => {
  const served = gateway.app.paths.filter(
    ({ path }) =>
      path !== '/' && !/^\/(docs|guides|dashboard|api\/auth)/.test(path) && !/^\/[\w.]+\.v1(alpha)?\./.test(path),
  )
  const documented = Object.entries(document.paths).map(([path, verbs]) => [path, Object.keys(verbs as object)])
  expect(served.map(({ path, verbs }) => [path, verbs.map((verb) => verb.toLowerCase())])).toEqual(documented)
})

test.for(operations)('$verb $path: the examples match the schemas', ({ path, verb, operation }) => {
  const place = `/paths/${escaped(path)}/${verb}`
  const { requestBody, responses, parameters } = operation
  const request = requestBody?.content['application/json'].example
  if (request) expect(faultsAgainst(`${place}/requestBody/content/application~1json/schema`, request)).toEqual([])
  for (const [i, { example, schema }] of (parameters ?? []).entries()) {
    if (example && schema) expect(faultsAgainst(`${place}/parameters/${i}/schema`, example)).toEqual([])
  }
  for (const [status, response] of Object.entries(responses)) {
    const { example, examples } = response.content['application/json']
    const all = example ? [example] : Object.values(examples ?? {}).map(({ value }) => value)
    expect(all.length).toBeGreaterThan(0)
    for (const one of all) {
      expect(faultsAgainst(`${place}/responses/${status}/content/application~1json/schema`, one)).toEqual([])
    }
  }
})

test.for(operations)('$verb $path: the live response matches the document', async ({ path, verb, operation }) => {
  const inPath = operation.parameters?.filter((parameter) => parameter.in === 'path') ?? []
  const url = inPath.reduce((url, { name, example }) => url.replace(`{${name}}`, String(example)), path)
  const body = operation.requestBody && JSON.stringify(operation.requestBody.content['application/json'].example)
  const headers = { 'content-type': 'application/json' }
  const response = await ask(gateway.url, url, { method: verb.toUpperCase(), body, headers })
  const { status, json } = response
  expect(status).toBe(200)
  for (const name of Object.keys(operation.responses['200']!.headers).filter((name) => !ON_REPEATS.includes(name))) {
    expect(response.headers.get(name), name).not.toBeNull()
  }
  const schema = `/paths/${escaped(path)}/${verb}/responses/200/content/application~1json/schema`
  expect(faultsAgainst(schema, json)).toEqual([])

  const refused = await ask(gateway.url, url, { method: verb.toUpperCase(), body, headers, key: 'wrong' })
  expect(refused.status).toBe('401' in operation.responses ? 401 : 200)
})

/** Words that no generated method may have as its name, in Go, Java, Python or TypeScript. */
const KEYWORDS =
  'abstract and as assert async await boolean break byte case catch chan char class const continue debugger def default defer del ' +
  'delete do double elif else enum except export extends false final finally float for from func function global go goto if ' +
  'implements import in instanceof int interface is lambda let list long map native new nonlocal not null or package pass print ' +
  'private protected public raise range return select self short static struct super switch synchronized this throw throws true try ' +
  'type typeof var void while with yield'

/** The ids of operations in paths, callbacks and webhooks. */
const operationIds = () => [...JSON.stringify(document).matchAll(/"operationId":"(\w+)"/g)].map(([, id]) => id!)

test('every operation has a unique id that names its resource and is not a keyword of any language', () => {
  const all = operationIds()
  expect(new Set(all.map((id) => id.toLowerCase())).size).toBe(all.length)
  expect(all.filter((id) => !/^[a-z]+([A-Z][a-zA-Z]+)+$/.test(id) || KEYWORDS.split(' ').includes(id))).toEqual([])
})

test('webhooks have a tag of their own: generators create one class for each tag', () => {
  const posted = Object.values(document.webhooks as Record<string, { post: Operation }>).flatMap(
    ({ post }) => post.tags,
  )
  const called = new Set(operations.flatMap(({ operation }) => operation.tags))
  expect(posted.filter((tag) => called.has(tag))).toEqual([])
})

const STORED = newEvent('01a1fdad-841e-72dd-baea-c02b7820cbac')
const FEEDBACK: FeedbackEvent = {
  ...STORED,
  event: 'email.feedback',
  feedback: 'late_bounce',
  detail: '550 5.1.1',
  smtp: null,
  isMember: false,
}
const SENDER = { tag: 'order', metadata: { order: '7' }, tenantId: 'shop-1' }
const SMTP = { mx: 'mx.example.net', code: 250, enhanced: '2.0.0', reply: '2.0.0 Ok' }

test.each<[operation: string, event: StoredEvent]>([
  ['emailDelivery', STORED],
  ['emailDelivery', { ...STORED, ...SENDER, smtp: SMTP }],
  ['emailDelivery', { ...STORED, status: 'bounced', reason: 'temporary_failure', retryable: true, sandbox: true }],
  ['emailDelivery', { ...STORED, status: 'bounced', reason: 'connection_timeout', inDoubt: true }],
  ['emailFeedback', { ...FEEDBACK, ...SENDER, reason: 'mailbox_full' }],
  ['emailFeedback', { ...FEEDBACK, feedback: 'complaint', detail: null, smtp: { decided_by: 'report' } }],
  ['emailFeedback', { ...FEEDBACK, isMember: true, smtp: { code: 550, enhanced: '5.1.1', reply: 'No', words: 'No' } }],
])('the payload of %s matches the document, and has no field that the document lacks: %j', (operation, event) => {
  const payload = JSON.parse(payloadOf(event).toString())
  const schema = document.webhooks[operation].post.requestBody.content['application/json'].schema
  expect(faultsAgainst(`/webhooks/${operation}/post/requestBody/content/application~1json/schema`, payload)).toEqual([])
  const { properties } = schema.$ref ? document.components.schemas[schema.$ref.split('/').at(-1)] : schema
  expect(Object.keys(properties)).toEqual(expect.arrayContaining(Object.keys(payload)))
})

test('all that a caller reads may grow: its objects are open, its words are texts, and null is not required', () => {
  const read = [
    ...operations.flatMap(({ operation }) => Object.values(operation.responses).map(({ content }) => content)),
    ...Object.values(document.webhooks as Record<string, { post: Operation }>).map(
      ({ post }) => post.requestBody!.content,
    ),
  ]
  const names = new Set<string>()
  const faults: string[] = []
  walk(read, 'a response')
  expect(names.size).toBeGreaterThan(50)
  expect(names).toContain('Error')
  expect(faults).toEqual([])

  function walk(node: unknown, at: string): void {
    if (typeof node !== 'object' || node === null) return
    const schema = node as Record<string, unknown>
    const name = typeof schema.$ref === 'string' ? schema.$ref.split('/').at(-1)! : undefined
    if (name !== undefined && !names.has(name)) {
      names.add(name)
      walk((document.components.schemas as Record<string, unknown>)[name], name)
    }
    if (schema.type === 'object' && schema.properties && !schema.additionalProperties) faults.push(`${at} is closed`)
    if (Array.isArray(schema.enum)) faults.push(`${at} has closed words`)
    for (const field of Array.isArray(schema.required) ? (schema.required as string[]) : []) {
      const { oneOf = [] } = (schema.properties as Record<string, { oneOf?: { type?: string }[] }>)[field]!
      if (oneOf.some(({ type }) => type === 'null')) faults.push(`${at}.${field} is required and may be null`)
    }
    for (const [key, one] of Object.entries(schema)) if (!key.startsWith('example')) walk(one, `${at}.${key}`)
  }
})

test('no two enum constants have the same name', () => {
  const schemas = Object.values(document.components.schemas as Record<string, Record<string, string[]>>)
  const names = schemas.flatMap((schema) => {
    expect(schema['x-enum-varnames']?.length).toBe(schema['x-extensible-enum']?.length)
    return schema['x-enum-varnames'] ?? []
  })
  expect(names.length).toBeGreaterThan(20)
  expect(new Set(names).size).toBe(names.length)
})

test('no schema has a name that a generator makes of an operation or of another schema', () => {
  const names = Object.keys(document.components.schemas)
  const pascal = (id: string) => id.charAt(0).toUpperCase() + id.slice(1)
  const made = operationIds().map(pascal)
  // `GetEmailResponse`, `GetEmailReq` and `GetEmail200` are types of `getEmail`.
  expect(names.filter((name) => made.some((one) => name.startsWith(one)))).toEqual([])
  // Go's constructor of `Domain` is `NewDomain`, and ogen's type of a nullable one is `NilDomain`.
  const prefixed = ['New', 'Nullable', 'Nil', 'Opt', 'Api'].flatMap((prefix) => names.map((name) => prefix + name))
  expect(names.filter((name) => prefixed.includes(name))).toEqual([])
  // Class names of some generators differ from these in case alone.
  expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(names.length)
})

test('a path refers to the schema of every webhook: oapi-codegen drops schemas that no path uses', () => {
  type Posted = { post: { requestBody: { content: { 'application/json': { schema: { $ref: string } } } } } }
  const paths = JSON.stringify(document.paths)
  for (const { post } of Object.values(document.webhooks as Record<string, Posted>)) {
    expect(paths).toContain(JSON.stringify(post.requestBody.content['application/json'].schema.$ref))
  }
})

test('every response has a status of its own: some generators do not read ranges such as 4XX', () => {
  const keys = operations.flatMap(({ operation }) => Object.keys(operation.responses))
  expect(keys.filter((key) => !/^\d{3}$/.test(key))).toEqual([])
})

/** Headers that belong to the interface, in lower case. */
const TOLD = /^(x-ratelimit-|x-request-id|retry-after|idempoten|www-authenticate)/
const FAULTS = {
  'no fault': {},
  'a wrong key': { key: 'wrong' },
  'a body that is not JSON': { body: '{' },
  'a body of another type': { body: 'text', type: 'text/plain' },
  'an unknown parameter': { query: '?nonsense=1' },
}

test.for(operations.flatMap((one) => Object.entries(FAULTS).map(([name, fault]) => ({ ...one, name, fault }))))(
  '$verb $path with $name: every header of the response is in the document',
  async ({ path, verb, operation, fault }) => {
    const { key, body, type = 'application/json', query = '' } = fault as Record<string, string>
    const inPath = operation.parameters?.filter((parameter) => parameter.in === 'path') ?? []
    const url = inPath.reduce((url, { name, example }) => url.replace(`{${name}}`, String(example)), path)
    const example = operation.requestBody && JSON.stringify(operation.requestBody.content['application/json'].example)
    const init = { method: verb.toUpperCase(), headers: { 'content-type': type }, key }
    const response = await ask(gateway.url, url + query, {
      ...init,
      body: verb === 'get' ? undefined : (body ?? example),
    })
    const documented = operation.responses[response.status] ?? operation.responses[`${String(response.status)[0]}XX`]
    const declared = Object.keys(documented!.headers).map((name) => name.toLowerCase())
    expect(declared).toEqual(expect.arrayContaining([...response.headers.keys()].filter((name) => TOLD.test(name))))
  },
)

test('the document is served with and without a key, and a wrong key is a 401', async () => {
  for (const [key, status] of [
    [KEY, 200],
    [null, 200],
    ['wrong', 401],
  ] as const) {
    const response = await ask(gateway.url, '/api/v1/openapi.json', { key })
    expect(response.status).toBe(status)
    if (status === 200) expect(response.json).toEqual({ ...document, servers: [expect.anything()] })
  }
})

test('the reference is found at /docs, also below the prefix of a proxy', async () => {
  const { status, headers } = await fetch(`${gateway.url}/docs`, { redirect: 'manual' })
  expect(status).toBe(302)
  const location = new URL(headers.get('location')!, 'https://example.com/verdict/docs').href
  expect(location).toBe('https://example.com/verdict/guides/reference/')
  const page = await fetch(`${gateway.url}/docs`)
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
})

test('the document names the public URL', async () => {
  await using behindProxy = await startGateway({ publicUrl: () => 'https://mail.example.com/verdict' })
  const { json } = await ask(behindProxy.url, '/api/v1/openapi.json')
  expect(json.servers).toEqual([{ url: 'https://mail.example.com/verdict', description: 'This server' }])
})

test('a method without a scope stops the start', async () => {
  const app = createApp({
    services: [createServiceImplSpec<typeof Health>(Health, {})],
    gate: async () => ({ accountId: '', keyId: '', test: false }),
    openCalls: createOpenCalls(),
    log: pino({ level: 'silent' }),
    checks: async () => ({}),
    keySet: { read: async () => ({ keys: [] }), maxAgeSeconds: 300 },
    about: { version: '', region: '' },
  })
  await expect(app).rejects.toThrow('grpc.health.v1.Health.Check has no scope')
})
