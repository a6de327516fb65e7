import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startProgram, waitForOutput } from '../harness/process.ts'
import { atEnd, temporaryFolder } from '../harness/until-end.ts'

// A reader of the reference sends its unchanged examples to a fresh `npm start`.

const dataDir = temporaryFolder()
const program = startProgram(process.execPath, ['dev/start.ts'], { PORT: '0', DATA_DIR: dataDir })
atEnd(() => program.kill())
await waitForOutput(program, /^ready .*\n/m)
const url = program.stdout().match(/^ready (.*)$/m)![1]!
const { live } = JSON.parse(await readFile(join(dataDir, 'keys.json'), 'utf8'))
const headers = { authorization: `Bearer ${live}`, 'content-type': 'application/json' }

interface Parameter {
  name: string
  in: string
  example?: unknown
}

interface Operation {
  parameters?: Parameter[]
  requestBody?: { content: { 'application/json': { example: object } } }
}

// biome-ignore lint/suspicious/noExplicitAny: any JSON
type Json = any

async function call(method: string, path: string, body?: object): Promise<{ status: number; json: Json }> {
  const response = await fetch(url + path, { method, headers, body: body && JSON.stringify(body) })
  return { status: response.status, json: await response.json() }
}

/** Calls an operation with its example. `ids` replaces the ids in the path by ones that exist, as a reader does. */
async function tryOut(path: string, verb: string, operation: Operation, ids: Record<string, string>) {
  const parameters = (operation.parameters ?? []).filter(({ example }) => example !== undefined)
  const place = (where: string) => parameters.filter((parameter) => parameter.in === where)
  const filled = place('path').reduce(
    (filled, { name, example }) => filled.replace(`{${name}}`, ids[name] ?? encodeURIComponent(String(example))),
    path,
  )
  const query = new URLSearchParams(place('query').map(({ name, example }) => [name, String(example)]))
  const body = operation.requestBody?.content['application/json'].example
  return call(verb.toUpperCase(), `${filled}?${query}`.replace(/\?$/, ''), body)
}

test('a fresh instance responds with 200 to every example of the document', async () => {
  const { json: document } = await call('GET', '/api/v1/openapi.json')
  const answers: Record<string, number> = {}
  const ids: Record<string, string> = {}
  const operations = Object.entries(document.paths as Record<string, Record<string, Operation>>).flatMap(
    ([path, verbs]) => Object.entries(verbs).map(([verb, operation]) => ({ path, verb, operation })),
  )
  const removals = operations.filter(({ verb }) => verb === 'delete')
  for (const { path, verb, operation } of [...operations.filter(({ verb }) => verb !== 'delete'), ...removals]) {
    // The operation that sets its endpoint comes later in the document.
    if (path.endsWith('/replay')) await call('PUT', '/api/v1/webhook', { url: 'https://hooks.example.com/email' })
    if (path.startsWith('/api/v1/emails/{id}')) ids.id = ids.message_id!
    if (path.startsWith('/api/v1/domains/{id}')) ids.id = ids.domain_id!
    if (path === '/api/v1/webhook' && verb === 'get') {
      await call('PUT', '/api/v1/webhook', { url: 'https://hooks.example.com/email' })
    }
    const { status, json } = await tryOut(path, verb, operation, ids)
    answers[`${verb} ${path}${status === 200 ? '' : ` ${JSON.stringify(json)}`}`] = status
    if (path === '/api/v1/emails/send') {
      expect(json).toMatchObject({ status: 'delivered' })
      expect(json).not.toHaveProperty('sandbox')
      ids.message_id = json.message_id
    }
    if (path === '/api/v1/emails/batch') expect(json.summary).toMatchObject({ delivered: 2, failed: 1 })
    if (path === '/api/v1/suppression/import') ids.import_id = json.import_id
    if (path === '/api/v1/events') ids.event_id = json.events[0].event_id
    if (path === '/api/v1/webhooks' && verb === 'post') ids.endpoint_id = json.endpoint_id
    if (path === '/api/v1/domains' && verb === 'post') ids.domain_id = json.domain_id
  }
  expect(Object.keys(answers).length).toBe(operations.length)
  expect(answers).toEqual(Object.fromEntries(Object.keys(answers).map((name) => [name, 200])))
}, 60_000)
