import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { PREVIOUS_RELEASE } from '../releases.ts'
import { breakingChanges, type Document } from './breaking-changes.ts'
import { WAIVERS } from './waivers.ts'

const read = (file: string): Document => JSON.parse(readFileSync(file, 'utf8'))
const released = read('test/contract/released-openapi.json')

test('the released document is that of the last release', () => {
  expect(`v${released.info.version}`).toBe(PREVIOUS_RELEASE.tag)
})

test('callers of the last release miss nothing in the current document but what has a reason', () => {
  expect(breakingChanges(released, read('docs/openapi.json')).toSorted()).toEqual(Object.keys(WAIVERS).toSorted())
})

// The comparison itself, which must not go blind.

test('a document breaks no caller of its own', () => {
  expect(breakingChanges(released, released)).toEqual([])
})

test('every member of every schema is compared', () => {
  const { schemas } = released.components
  const members = Object.entries(schemas).flatMap(([name, { properties = {} }]) =>
    Object.keys(properties).map((member) => `${name}.${member} is gone`),
  )
  expect(members.length).toBeGreaterThan(200)
  const found = Object.entries(schemas).flatMap(([name, { properties: _, ...bare }]) =>
    breakingChanges(released, {
      ...released,
      components: { ...released.components, schemas: { ...schemas, [name]: bare } },
    }),
  )
  expect(members.filter((member) => !found.includes(member))).toEqual([])
})

test('every operation and every parameter of it is compared', () => {
  const operations = Object.entries({ ...released.paths, ...released.webhooks }).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([verb, operation]) => ({ at: `${verb.toUpperCase()} ${path}`, operation })),
  )
  expect(operations.length).toBeGreaterThan(30)
  const without = breakingChanges(released, { ...released, paths: {}, webhooks: {} })
  expect(without.toSorted()).toEqual(operations.map(({ at }) => `${at} is gone`).toSorted())

  const current = structuredClone(released)
  for (const verbs of [current.paths, current.webhooks].flatMap((all) => Object.values(all)))
    for (const operation of Object.values(verbs)) delete operation.parameters
  const own = operations.flatMap(({ at, operation }) =>
    (operation.parameters ?? []).flatMap((one) => ('name' in one ? [`${at} ${one.in} ${one.name} is gone`] : [])),
  )
  expect(own.length).toBeGreaterThan(50)
  const found = breakingChanges(released, current)
  expect(own.filter((parameter) => !found.includes(parameter))).toEqual([])
})

type Change = (to: Document) => unknown

const BREAKS: Record<string, Change> = {
  'POST /api/v1/emails/send has another operationId than sendEmail': (to) =>
    Object.assign(send(to), { operationId: 'send' }),
  'POST /api/v1/emails/send has another tag than Emails': (to) => Object.assign(send(to), { tags: ['Mail'] }),
  'GET /healthz needs a key': (to) => Object.assign(to.paths['/healthz']!.get!, { security: [{ apiKey: [] }] }),
  'POST /api/v1/emails/send needs header X-Region': (to) => send(to).parameters!.push({ ...REGION, required: true }),
  'DELETE /api/v1/suppression/{email} needs a body': (to) =>
    Object.assign(to.paths['/api/v1/suppression/{email}']!.delete!, { requestBody: { required: true } }),
  'POST /api/v1/emails/send 200 is gone': (to) => delete send(to).responses['200'],
  'POST /api/v1/emails/send 200 header X-RateLimit-Reset is gone': (to) =>
    delete send(to).responses['200']!.headers!['X-RateLimit-Reset'],
  'POST /api/v1/emails/send 200 as application/json is gone': (to) =>
    Object.assign(send(to).responses['200']!, { content: { 'text/plain': { schema: {} } } }),
  'POST /api/v1/emails/send body is no longer SendRequest': (to) =>
    Object.assign(send(to).requestBody!.content!['application/json']!.schema, {
      $ref: '#/components/schemas/BatchItem',
    }),
  'SendRequest needs text': (to) => schema(to, 'SendRequest').required!.push('text'),
  'SendRequestTo takes no string': (to) => schema(to, 'SendRequestTo').oneOf!.shift(),
  'SendRequest.tag takes no null': (to) => change(to, 'SendRequest', 'tag', { type: 'string' }),
  'SendRequest.tag has the maxLength 3': (to) => change(to, 'SendRequest', 'tag', { maxLength: 3 }),
  'SendRequest.tag has the minLength 9': (to) => change(to, 'SendRequest', 'tag', { minLength: 9 }),
  'SendRequest.tag takes only a': (to) => change(to, 'SendRequest', 'tag', { enum: ['a'] }),
  'SendRequest.tag must match ^a$': (to) => change(to, 'SendRequest', 'tag', { pattern: '^a$' }),
  'SendRequest.metadata names has the maxLength 1': (to) =>
    change(to, 'SendRequest', 'metadata', { propertyNames: { maxLength: 1 } }),
  'SuppressionReason takes no import': (to) => schema(to, 'SuppressionReason').enum!.splice(2, 1),
  'SendResponse.status may be absent': (to) => schema(to, 'SendResponse').required!.splice(0),
  'SendResponse.message_id may be anything': (to) => change(to, 'SendResponse', 'message_id', { type: [] }),
  'SendResponse.message_id may be null': (to) => change(to, 'SendResponse', 'message_id', { type: ['string', 'null'] }),
  'Domain.created_at has another format than date-time': (to) => change(to, 'Domain', 'created_at', { format: 'date' }),
}

test.each(Object.entries(BREAKS))('"%s" is found', (finding, breaks) => {
  const current = structuredClone(released)
  breaks(current)
  expect(breakingChanges(released, current)).toContain(finding)
})

const GROWTH: Record<string, Change> = {
  'a new path': (to) => Object.assign(to.paths, { '/api/v1/new': to.paths['/healthz']! }),
  'a new parameter': (to) => send(to).parameters!.push(REGION),
  'a new member of a request': (to) => change(to, 'SendRequest', 'colour', { type: 'string', maxLength: 3 }),
  'a wider limit': (to) => change(to, 'SendRequest', 'tag', { maxLength: 1_000_000 }),
  'a member that a request no longer needs': (to) => schema(to, 'SendRequest').required!.splice(0),
  'a new member of a response': (to) => change(to, 'SendResponse', 'colour', { type: 'string' }),
  'a new value of both': (to) => schema(to, 'SuppressionReason').enum!.push('moved'),
}

test.each(Object.entries(GROWTH))('%s breaks no caller', (_, grows) => {
  const current = structuredClone(released)
  grows(current)
  expect(breakingChanges(released, current)).toEqual([])
})

const REGION = { name: 'X-Region', in: 'header', schema: { type: 'string' } }
const send = ({ paths }: Document) => paths['/api/v1/emails/send']!.post!
const schema = ({ components }: Document, name: string) => components.schemas[name]!
const change = (document: Document, name: string, member: string, keywords: object) => {
  const { properties } = schema(document, name)
  properties![member] = { ...properties![member], ...keywords }
}
