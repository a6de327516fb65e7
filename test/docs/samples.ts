import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Sample } from '../../dev/openapi/samples.ts'

export interface DocumentedCall {
  verb: string
  path: string
  samples: Sample[]
  /** The request that a sample must make. */
  expected: SeenRequest
}

export interface SeenRequest {
  method: string
  url: string
  authorization: string
  body: unknown
}

interface Operation {
  parameters: { name: string; in: string; example?: unknown }[]
  requestBody?: { content: { 'application/json': { example: unknown } } }
  'x-codeSamples'?: Sample[]
}

export const KEY = 'svc_test_sample'

/** Every call of the reference that has samples. */
export function documentedCalls(): DocumentedCall[] {
  const { paths } = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as {
    paths: Record<string, Record<string, Operation>>
  }
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([verb, operation]) => {
      const samples = operation['x-codeSamples']
      return samples ? [{ verb, path, samples, expected: requestOf(path, verb, operation) }] : []
    }),
  )
}

function requestOf(path: string, verb: string, { parameters, requestBody }: Operation): SeenRequest {
  const given = parameters.filter(({ example }) => example !== undefined)
  const url = given
    .filter((parameter) => parameter.in === 'path')
    .reduce((filled, { name, example }) => filled.replace(`{${name}}`, encodeURIComponent(String(example))), path)
  const query = new URLSearchParams(
    given.filter((parameter) => parameter.in === 'query').map(({ name, example }) => [name, String(example)]),
  )
  return {
    method: verb.toUpperCase(),
    url: query.size > 0 ? `${url}?${query}` : url,
    authorization: `Bearer ${KEY}`,
    body: requestBody?.content['application/json'].example,
  }
}

/** A server that answers every request with `{}` and keeps what it saw. */
export async function startEcho() {
  const seen: SeenRequest[] = []
  const server = createServer(async (request, response) => {
    const body = await text(request)
    const { method = '', url = '', headers } = request
    seen.push({
      method,
      url,
      authorization: headers.authorization ?? '',
      body: body === '' ? undefined : JSON.parse(body),
    })
    response.setHeader('content-type', 'application/json').end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, seen, env: { ...process.env, VERDICT_URL: url, VERDICT_API_KEY: KEY }, stop: () => server.close() }
}
