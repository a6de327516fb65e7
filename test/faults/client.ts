import http from 'node:http'
import type { ClientEntry } from '../reliability/logs.ts'
import type { Letter } from './letters.ts'

export interface Client {
  /**
   * Sends a letter. Always resolves when the request has ended. `leaveAfterMs` resets the connection after this time.
   */
  send(letter: Letter, leaveAfterMs?: number): Promise<ClientEntry>
  /** Sends letters as a batch with one key. Returns an entry for each letter. */
  sendBatch(letters: Letter[], key: string): Promise<ClientEntry[]>
  get(path: string): Promise<ClientResponse>
  request(method: string, path: string, body?: object): Promise<ClientResponse>
  /** The sends in progress. */
  running: Set<ClientEntry>
  close(): void
}

export interface ClientResponse {
  status: number
  headers: http.IncomingHttpHeaders
  body: unknown
}

/** Creates a caller that keeps a connection for each concurrent call. It logs every send. */
export function createClient(
  { node, url, key, domain = 'example.test' }: { node: string; url: string; key: string; domain?: string },
  log: ClientEntry[],
): Client {
  const agent = new http.Agent({ keepAlive: true })
  const from = `Verdict <hello@${domain}>`
  const running = new Set<ClientEntry>()
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }

  async function send({ request, to, text, key }: Letter, leaveAfterMs?: number) {
    const entry: ClientEntry = { request, key, node, to, sentAtMs: performance.now() }
    log.push(entry)
    running.add(entry)
    try {
      const body = JSON.stringify({ from, subject: request, to, text })
      const more = key === undefined ? {} : { 'idempotency-key': key }
      const response = await call('POST', '/api/v1/emails/send', { body, more, leaveAfterMs })
      Object.assign(entry, { status: response.status, body: response.body })
    } catch (error) {
      entry.lost = (error as NodeJS.ErrnoException).code ?? (error as Error).message
    }
    entry.endedAtMs = performance.now()
    running.delete(entry)
    return entry
  }

  async function sendBatch(letters: Letter[], key: string) {
    const sentAtMs = performance.now()
    const entries = letters.map(
      ({ request, to }, i): ClientEntry => ({ request, key: `${key} ${i}`, node, to, sentAtMs }),
    )
    for (const entry of entries) {
      log.push(entry)
      running.add(entry)
    }
    const emails = letters.map(({ request, to, text }) => ({ from, subject: request, to, text }))
    const resultOf = await call('POST', '/api/v1/emails/batch', {
      body: JSON.stringify({ emails }),
      more: { 'idempotency-key': key },
    }).then(itemsOf, (error) => () => ({ lost: error.code ?? error.message }))
    for (const [i, entry] of entries.entries()) {
      Object.assign(entry, resultOf(i), { endedAtMs: performance.now() })
      running.delete(entry)
    }
    return entries
  }

  function call(method: string, path: string, options: { body?: string; more?: object; leaveAfterMs?: number } = {}) {
    const { body, more, leaveAfterMs } = options
    return new Promise<ClientResponse>((resolve, reject) => {
      const request = http.request(`${url}${path}`, { method, agent, headers: { ...headers, ...more } }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (part) => {
          text += part
        })
        response.on('error', reject)
        response.on('end', () => {
          const { statusCode: status, headers } = response
          if (response.complete) resolve({ status: status!, headers, body: parseBody(text) })
          else reject(new Error('incomplete response'))
        })
      })
      request.on('error', reject)
      const leave = () => request.socket?.resetAndDestroy()
      const timer = leaveAfterMs === undefined ? undefined : setTimeout(leave, leaveAfterMs)
      request.once('close', () => clearTimeout(timer))
      request.end(body)
    })
  }

  return {
    send,
    sendBatch,
    get: (path) => call('GET', path),
    request: (method, path, body) => call(method, path, { body: body && JSON.stringify(body) }),
    running,
    close: () => agent.destroy(),
  }
}

/** The result of each message of a batch, in the form of the response to a single send. */
function itemsOf({ status, body }: ClientResponse): (i: number) => Pick<ClientEntry, 'status' | 'body'> {
  if (status !== 200) return () => ({ status, body })
  const { results } = body as { results: { index: number; error?: string }[] }
  return (i) => {
    const { index: _, ...result } = results[i]!
    return { status: result.error === undefined ? 200 : STATUS_OF[result.error], body: result }
  }
}

const STATUS_OF: Record<string, number> = { transient_failure: 500, rate_limit_exceeded: 429 }

/** Text that is not JSON stays text, for the reconciler to find. */
function parseBody(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
