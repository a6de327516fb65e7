import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Members whose names are the caller's or words, so that no version of the contract adds one. */
const MAPS = ['metadata', 'headers', 'reasons']
/** Members whose words may get more, and that no program of these tests depends on. */
const WORDS = ['phase', 'kind']

/** What a later version may respond: each object has a member more, and words that are not known today. */
export function ofTomorrow(value: unknown, name = ''): unknown {
  if (Array.isArray(value)) return value.map((one) => ofTomorrow(one, name))
  if (typeof value === 'string' && WORDS.includes(name)) return `${name}_of_tomorrow`
  if (typeof value !== 'object' || value === null || MAPS.includes(name)) return value
  const members = Object.entries(value).map(([key, one]) => [key, ofTomorrow(one, key)])
  return { ...Object.fromEntries(members), of_tomorrow: { members: ['more'] } }
}

/** A proxy that makes the JSON of a service that of a later version. */
export async function startTomorrow(origin: string): Promise<{ url: string; close(): void }> {
  const server = createServer(async (request, response) => {
    const { host: _, 'accept-encoding': __, ...headers } = request.headers
    const chunks = await request.toArray()
    const answer = await fetch(`${origin}${request.url}`, {
      method: request.method,
      headers: headers as Record<string, string>,
      body: chunks.length > 0 ? Buffer.concat(chunks) : undefined,
    })
    const text = JSON.stringify(ofTomorrow(await answer.json()))
    const { 'content-length': ___, 'content-encoding': ____, ...given } = Object.fromEntries(answer.headers)
    response.writeHead(answer.status, given).end(text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() }
}
