import { connect, type Socket } from 'node:net'
import { startWorker, type Worker, work } from './process.ts'

export interface HttpRun {
  /** The connections take the ports of a list in turn. */
  port: number | readonly number[]
  /** The requests take the paths of a list in turn. */
  path: string | readonly string[]
  /** Sent as `Authorization: Bearer`. */
  key?: string
  /** JSON. Without a body the requests are GETs. */
  body?: string
  /** The number of `A`s that replace the `*` in `body`. One buffer serves all requests, however many and large. */
  fill?: number
  /** Requests carry an Idempotency-Key: `distinct` different ones in turn, each with this prefix. */
  keys?: { prefix: string; distinct: number }
  connections: number
  requests: number
  /**
   * The load tool never sleeps. Waking a sleeping process costs the process that writes to it as much as a small
   * request. A server that is slower than its load would pay for that, and a faster one would not.
   */
  awake?: boolean
}

export interface HttpResponses {
  seconds: number
  /** From the first byte written to the last byte read, in the order in which the requests end. */
  latenciesMs: number[]
  /** The number of responses by HTTP status and the `status` or `error` of their JSON: `200 delivered`. */
  counts: Record<string, number>
  /** The number of different response bodies. */
  bodies: number
}

/** Starts a load tool in its own process. Each connection sends its next request after a response. */
export function startHttpLoad(): Promise<Worker<HttpRun, HttpResponses>> {
  return startWorker(import.meta.filename)
}

async function load(run: HttpRun): Promise<HttpResponses> {
  const [first, ...rest] = piecesOf(run)
  const responses: HttpResponses = { seconds: 0, latenciesMs: [], counts: {}, bodies: 0 }
  const bodies = new Set<string>()
  let started = 0
  const ports = [run.port].flat()
  const lane = async (_: unknown, connection: number) => {
    let exchange: Exchange | undefined
    while (started < run.requests) {
      const number = started++
      const request = [requestLine(run, number), keyLine(run, number), first!, ...rest]
      exchange ??= openExchange(ports[connection % ports.length]!)
      const startedAt = performance.now()
      const response = await exchange.ask(request).catch((error: Error) => `no response: ${error.message}`)
      const isResponse = typeof response === 'object'
      if (!isResponse || response.closes) exchange = undefined
      const outcome = isResponse ? `${response.status} ${outcomeOf(response.body)}` : response
      if (isResponse) bodies.add(response.body)
      responses.counts[outcome] = (responses.counts[outcome] ?? 0) + 1
      responses.latenciesMs.push(performance.now() - startedAt)
    }
    exchange?.close()
  }
  const startedAt = performance.now()
  let running = true
  const stayAwake = () => void (running && setImmediate(stayAwake))
  if (run.awake) stayAwake()
  await Promise.all(Array.from({ length: run.connections }, lane))
  running = false
  responses.bodies = bodies.size
  responses.seconds = (performance.now() - startedAt) / 1000
  return responses
}

const requestLine = ({ path, body }: HttpRun, i: number) =>
  Buffer.from(
    `${body === undefined ? 'GET' : 'POST'} ${typeof path === 'string' ? path : path[i % path.length]} HTTP/1.1\r\n`,
  )

const keyLine = ({ keys }: HttpRun, i: number) =>
  Buffer.from(keys ? `Idempotency-Key: ${keys.prefix}${i % keys.distinct}\r\n` : '')

function piecesOf({ key, body = '', fill }: HttpRun): Buffer[] {
  const parts = fill === undefined ? [body] : body.split('*', 2)
  const length = Buffer.byteLength(parts.join('')) + (fill ?? 0)
  const head = [
    'Host: 127.0.0.1',
    ...(key === undefined ? [] : [`Authorization: Bearer ${key}`]),
    'Content-Type: application/json',
    `Content-Length: ${length}`,
  ]
  const [before, after] = [`${head.join('\r\n')}\r\n\r\n${parts[0]}`, parts[1] ?? '']
  if (fill === undefined) return [Buffer.from(before)]
  return [Buffer.from(before), Buffer.alloc(fill, 'A'), Buffer.from(after)]
}

function outcomeOf(body: string): string {
  try {
    const { status, error } = JSON.parse(body)
    return status ?? error ?? ''
  } catch {
    return 'without JSON'
  }
}

interface HttpResponse {
  status: number
  body: string
  /** The server closes the connection after this response. */
  closes: boolean
}

/** A connection that carries one request at a time. */
export interface Exchange {
  ask(request: readonly Buffer[]): Promise<HttpResponse>
  close(): void
}

export function openExchange(port: number): Exchange {
  const socket: Socket = connect({ port, host: '127.0.0.1', noDelay: true })
  let received: Buffer = Buffer.alloc(0)
  let pending: PromiseWithResolvers<HttpResponse> | undefined
  const fail = (error: Error) => pending?.reject(error)
  socket.on('error', fail)
  socket.on('close', () => fail(new Error('closed')))
  socket.on('data', (chunk: Buffer) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    const response = parse(received)
    if (!response) return
    received = Buffer.alloc(0)
    if (response.closes) socket.destroy()
    pending?.resolve(response)
  })
  return {
    ask(request) {
      pending = Promise.withResolvers<HttpResponse>()
      // The connection may have ended while it was idle. Nothing more is heard from it then.
      if (socket.destroyed) fail(new Error('closed'))
      socket.cork()
      for (const piece of request) socket.write(piece)
      socket.uncork()
      return pending.promise
    },
    close: () => socket.destroy(),
  }
}

/** A response with a Content-Length. Undefined until it is complete. */
function parse(received: Buffer): HttpResponse | undefined {
  const end = received.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const head = received.toString('latin1', 0, end)
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (length === undefined) throw new Error(`a response without Content-Length:\n${head}`)
  const body = received.subarray(end + 4)
  if (body.length < Number(length)) return undefined
  return { status: Number(head.slice(9, 12)), body: body.toString(), closes: /\r\nconnection: *close/i.test(head) }
}

if (import.meta.main) work(load)
