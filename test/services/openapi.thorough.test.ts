import { beforeEach, expect, test } from 'vitest'
import { document, faultsAgainst } from '../http/documented.ts'
import { startApi } from './api.ts'

// Compares the limits in the OpenAPI document with the validation behind it.

const api = await startApi()

// biome-ignore lint/suspicious/noExplicitAny: JSON Schema
type Schema = any

interface Case {
  verb: string
  path: string
  /** The property or query parameter. */
  field: string
  keyword: string
  within: unknown
  beyond: unknown
}

const resolved = (schema: Schema): Schema =>
  schema.$ref ? document.components.schemas[schema.$ref.split('/').at(-1)] : schema

/** A value at each limit of a schema, and the next value beyond it. `one` creates a valid element of a list. */
function casesOf(field: Schema, one: (i: number) => unknown): [keyword: string, within: unknown, beyond: unknown][] {
  const schema = resolved(field)
  if (schema.oneOf) return schema.oneOf.flatMap((option: Schema) => casesOf(option, one))
  const list = (length: number) => Array.from({ length }, (_, i) => one(i))
  const text = schema.format === 'uri' ? 'https://hooks.example.com/' : ''
  const map = (size: number) => Object.fromEntries(list(size).map((_, i) => [`X-${i}`, 'value']))
  const makers: Record<string, (limit: number) => [unknown, unknown]> = {
    minLength: () => ['', ''],
    maxLength: (limit) => [text.padEnd(limit, 'a'), text.padEnd(limit + 1, 'a')],
    minItems: (limit) => [list(limit), list(limit - 1)],
    maxItems: (limit) => [list(limit), list(limit + 1)],
    minimum: (limit) => [limit, limit - 1],
    maximum: (limit) => [limit, limit + 1],
    maxProperties: (limit) => [map(limit), map(limit + 1)],
  }
  return Object.entries(makers).flatMap(([keyword, make]) => {
    if (schema[keyword] === undefined) return []
    const [within, beyond] = make(schema[keyword])
    return [[keyword, keyword === 'minLength' ? undefined : within, beyond]]
  })
}

/** Fields are checked before the endpoint is looked up. */
const ENDPOINT_ID = 'whk_01jxc3d2gwf95srb9y9xd6pz4d'
const MESSAGE = { to: 'delivered@simulator.test', from: 'hello@example.test', subject: 'Hello', text: 'Hello' }

function element(field: string, path: string): (i: number) => unknown {
  if (field === 'events') return () => 'email.feedback'
  if (field === 'statuses') return () => 'bounced'
  if (field === 'attachments') return (i) => ({ filename: `${i}.txt`, content: '' })
  if (field === 'emails' && path.endsWith('/batch')) return () => MESSAGE
  if (field === 'domains') return (i) => `domain${i}.test`
  return (i) => `user${i}@example.test`
}

const CASES: Case[] = Object.entries(document.paths as Schema).flatMap(([path, verbs]) =>
  Object.entries(verbs as Schema).flatMap(([verb, operation]: [string, Schema]) => {
    const body = operation.requestBody && resolved(operation.requestBody.content['application/json'].schema)
    const query = (operation.parameters ?? []).filter((parameter: Schema) => parameter.in === 'query')
    const fields: [string, Schema][] = [
      ...Object.entries(body?.properties ?? {}),
      ...query.map(({ name, schema }: Schema) => [name, schema]),
    ]
    return fields.flatMap(([field, schema]) =>
      casesOf(schema, element(field, path)).map(([keyword, within, beyond]) => ({
        verb,
        path,
        field,
        keyword,
        within,
        beyond,
      })),
    )
  }),
)

/** Whether a 400 names the field. */
async function isRefused({ verb, path, field }: Case, value: unknown): Promise<boolean> {
  const operation = document.paths[path][verb]
  const example = operation.requestBody?.content['application/json'].example
  const url = path
    .replace('{email}', 'ann@example.com')
    .replace('{id}', 'dom_01jx3c7w2m8k4n6p9q1r5s7t3v')
    .replace('{endpoint_id}', ENDPOINT_ID)
  const answer = example
    ? await api.call(verb.toUpperCase(), url, {
        body: { ...example, [field]: value },
        headers: path.endsWith('/send') || path.endsWith('/batch') ? { 'x-service-sandbox': 'true' } : {},
      })
    : await api.call(verb.toUpperCase(), `${url}?${new URLSearchParams(queryOf(field, value))}`)
  const named = (answer.json.details ?? []).map((fault: { field: string }) => fault.field.split(/[.[]/)[0])
  return answer.status === 400 && named.includes(field)
}

/** A parameter of the query. A map has one for each of its keys, `metadata[order]`. */
function queryOf(field: string, value: unknown): string[][] {
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isMap ? Object.entries(value).map(([key, one]) => [`${field}[${key}]`, String(one)]) : [[field, String(value)]]
}

/** An account has at most ten endpoints, each with another URL. */
beforeEach(async () => {
  const { endpoints } = (await api.call('GET', '/api/v1/webhooks')).json
  for (const { endpoint_id } of endpoints) await api.call('DELETE', `/api/v1/webhooks/${endpoint_id}`)
})

test('the document has limits of every kind', () => {
  const kinds = new Set(CASES.map(({ keyword }) => keyword))
  expect([...kinds].sort()).toEqual(
    ['maxItems', 'maxLength', 'maxProperties', 'maximum', 'minItems', 'minLength', 'minimum'].sort(),
  )
})

test.for(CASES)('$verb $path: $keyword of $field is the limit of the validation', async (one) => {
  if (one.within !== undefined) expect(await isRefused(one, one.within)).toBe(false)
  expect(await isRefused(one, one.beyond)).toBe(true)
})

const without = ({ ...object }, field: string) => {
  delete object[field]
  return object
}

const BODIES = Object.entries(document.paths as Schema).flatMap(([path, verbs]) =>
  Object.entries(verbs as Schema).flatMap(([verb, { requestBody }]: [string, Schema]) => {
    // A body that may be absent has no example, and requires nothing.
    if (!requestBody?.required) return []
    const { schema, example } = requestBody.content['application/json']
    const sends = path.endsWith('/send') || path.endsWith('/validate')
    const whole = sends
      ? { ...example, html: '<p>Hello</p>', text: 'Hello', attachments: [{ filename: 'a.txt', content: '' }] }
      : example
    const lacking = Object.keys(resolved(schema).properties).map((field) => ({ field, body: without(whole, field) }))
    const files = ['filename', 'content'].map((field) => ({
      field,
      body: { ...whole, attachments: [without(whole.attachments?.[0] ?? {}, field)] },
    }))
    const pointer = `/paths/${path.replaceAll('/', '~1')}/${verb}/requestBody/content/application~1json/schema`
    return [...lacking, ...(sends ? files : [])].map((one) => ({ ...one, path, verb, pointer }))
  }),
)

/** A raw message has its own. JSON Schema has no simple word for "required unless there is another". */
const NEEDED_WITHOUT_RAW = ['from', 'subject']

test.for(BODIES)('$verb $path without $field is refused exactly when the document requires it', async (one) => {
  const { path, verb, body, pointer } = one
  const url = path.replace('{id}', 'dom_01jx3c7w2m8k4n6p9q1r5s7t3v').replace('{endpoint_id}', ENDPOINT_ID)
  const answer = await api.call(verb.toUpperCase(), url, { body, headers: { 'x-service-sandbox': 'true' } })
  const isSend = path.endsWith('/send') || path.endsWith('/validate')
  const isNeeded = isSend && NEEDED_WITHOUT_RAW.includes(one.field)
  expect(answer.status === 400).toBe(isNeeded || faultsAgainst(pointer, body).length > 0)
})

test('a file name is as long as the document allows, and no longer', async () => {
  const { maxLength } = document.components.schemas.Attachment.properties.filename
  for (const [length, status] of [
    [maxLength, 200],
    [maxLength + 1, 400],
  ]) {
    const attachments = [{ filename: 'a'.repeat(length), content: '' }]
    const answer = await api.call('POST', '/api/v1/emails/validate', { body: { ...MESSAGE, attachments } })
    expect([length, answer.status]).toEqual([length, status])
  }
})

test('the document has the headers of a repeated send, dry run and batch', async () => {
  for (const [path, body] of [
    ['/api/v1/emails/send', MESSAGE],
    ['/api/v1/emails/validate', MESSAGE],
    ['/api/v1/emails/batch', { emails: [MESSAGE] }],
  ] as const) {
    const headers = { 'idempotency-key': 'a repeat' }
    await api.call('POST', path, { headers, body })
    const other = 'emails' in body ? { emails: [MESSAGE, MESSAGE] } : { ...MESSAGE, subject: 'Another' }
    const repeated = await api.call('POST', path, { headers, body: other })
    expect([path, repeated.headers.get('idempotent-replayed')]).toEqual([path, 'true'])
    expect([path, repeated.headers.get('idempotency-mismatch')]).toEqual([path, 'body'])
    const declared = Object.keys(document.paths[path].post.responses[200].headers)
    expect(declared).toEqual(expect.arrayContaining(['Idempotent-Replayed', 'Idempotency-Mismatch']))
  }
})
