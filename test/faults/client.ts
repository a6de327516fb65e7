import http from 'node:http'
import type { ClientEntry } from '../reliability/logs.ts'
import type { Letter } from './letters.ts'

export interface Client {
  /** A send; resolves, whatever becomes of it, when it has ended. `leaveAfterMs` resets the connection then. */
  send(letter: Letter, leaveAfterMs?: number): Promise<ClientEntry>
  /** Letters with one key for all; an entry for each of them. */
  sendBatch(letters: Letter[], key: string): Promise<ClientEntry[]>
  get(path: string): Promise<Answer>
  ask(method: string, path: string, body?: object): Promise<Answer>
  /** The sends under way. */
  running: Set<ClientEntry>
  close(): void
}

export interface Answer {
  status: number
  headers: http.IncomingHttpHeaders
  body: unknown
}

/** A caller with as many kept connections as it has calls at a time. Every send goes into the log. */
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
      const answer = await call('POST', '/api/v1/emails/send', { body, more, leaveAfterMs })
      Object.assign(entry, { status: answer.status, body: answer.body })
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
    const ended = await call('POST', '/api/v1/emails/batch', {
      body: JSON.stringify({ emails }),
      more: { 'idempotency-key': key },
    }).then(itemsOf, (error) => () => ({ lost: error.code ?? error.message }))
    for (const [i, entry] of entries.entries()) {
      Object.assign(entry, ended(i), { endedAtMs: performance.now() })
      running.delete(entry)
    }
    return entries
  }

  function call(method: string, path: string, options: { body?: string; more?: object; leaveAfterMs?: number } = {}) {
    const { body, more, leaveAfterMs } = options
    return new Promise<Answer>((resolve, reject) => {
      const request = http.request(`${url}${path}`, { method, agent, headers: { ...headers, ...more } }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (part) => {
          text += part
        })
        response.on('error', reject)
        response.on('end', () => {
          const { statusCode: status, headers } = response
          if (response.complete) resolve({ status: status!, headers, body: parsed(text) })
          else reject(new Error('half an answer'))
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
    ask: (method, path, body) => call(method, path, { body: body && JSON.stringify(body) }),
    running,
    close: () => agent.destroy(),
  }
}

/** What a batch answered to each of its messages, as if it had been alone. */
function itemsOf({ status, body }: Answer): (i: number) => Pick<ClientEntry, 'status' | 'body'> {
  if (status !== 200) return () => ({ status, body })
  const { results } = body as { results: { index: number; error?: string }[] }
  return (i) => {
    const { index: _, ...result } = results[i]!
    return { status: result.error === undefined ? 200 : STATUS_OF[result.error], body: result }
  }
}

const STATUS_OF: Record<string, number> = { transient_failure: 500, rate_limit_exceeded: 429 }

/** What is no JSON stays text, for the reconciler to find. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
