import type { Server } from 'node:http'
import net, { type AddressInfo, type Socket } from 'node:net'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import tls from 'node:tls'
import type { App } from '../app.ts'
import type { RawRequest, RawResponse } from '../call.ts'
import { type ConnectionLimit, createConnectionLimit } from './connection-limit.ts'
import { createHttp1 } from './http1.ts'
import { Http2 } from './http2.ts'
import { sniff } from './sniff.ts'
import { limitUnreadResponses, type UnreadResponses } from './unread-responses.ts'

export interface ListenOptions {
  host: string
  /** 0 takes a free port. */
  port: number
  /** PEM. */
  tls?: { cert: string | Buffer; key: string | Buffer }
  /** Timeout for the first bytes of a connection, and for a TLS handshake. */
  sniffTimeoutMs?: number
  /** Timeout for the head of an HTTP/1.1 request. */
  headersTimeoutMs?: number
  /** A response is aborted when its caller has read nothing of it for this long, or for up to twice as long. */
  stalledResponseMs?: number
  /** Memory for what callers have not read yet of their responses. */
  maxUnreadBytes?: number
  /** The most open connections. */
  maxConnections?: number
  /** The most open connections from one IPv4 address or one /64 of IPv6. */
  maxConnectionsPerAddress?: number
  /** Addresses and ranges of proxies: `maxConnectionsPerAddress` does not apply to them. */
  trustProxy?: readonly string[]
}

export interface Listener {
  url: string
  port: number
  /** How many connections are open. */
  connections(): number
  /**
   * Stops accepting connections and finishes the calls that were accepted. Calls that are still in flight after
   * `timeoutMs` are aborted.
   */
  close(options: { timeoutMs: number }): Promise<void>
  /** Later handshakes present this certificate. Needs `tls`. */
  showCertificate(pair: { cert: string; key: string }): void
}

const SNIFF_TIMEOUT_MS = 10_000
/** Browsers then use this host over TLS only, for a year. Behind a proxy that ends TLS, the proxy sends the header. */
const HSTS = 'max-age=31536000'
/** When no request has arrived for this long, no caller has one on the way over a keep-alive connection. */
const QUIET_MS = 500
/** The longest time that keep-alive connections are served after the listener has closed. */
const KEEP_ALIVE_SERVED_MS = 5_000
// See `idleTurn`.
const SHORT_TURN_MS = 0.5
const ANY_LENGTH_AFTER_MS = 1_000
const GIVE_UP_AFTER_MS = 10_000

/**
 * Serves an app on one port: HTTP/1.1 and HTTP/2, with or without TLS. Rejects when it cannot listen on it.
 * Each API process calls it once.
 */
export async function listen(app: App, options: ListenOptions): Promise<Listener> {
  const connections = new HttpConnections(app, options)
  const server = await openServer(options, connections).catch((error) => {
    connections.destroyAll()
    throw error
  })
  return {
    url: urlOf(server, options),
    port: (server.address() as AddressInfo).port,
    connections: () => connections.limit.open.size,
    close: ({ timeoutMs }) => connections.drain(server, timeoutMs),
    showCertificate(pair) {
      const secure = server as tls.Server
      secure.setSecureContext(pair)
    },
  }
}

/** The connections of a listener, and the requests that have come on them. */
class HttpConnections {
  readonly limit: ConnectionLimit
  #isClosing = false
  #accepted = 0
  #requests = 0
  readonly #http1: Server
  readonly #http2: Http2
  readonly #app: App
  readonly #options: ListenOptions
  readonly #unread: UnreadResponses
  /** Connections of HTTP/1.1, and connections whose protocol is not known yet. */
  readonly #open = new Set<Socket>()
  readonly #protocols = {
    http1: (socket: Socket) => this.#http1.emit('connection', socket),
    http2: (socket: Socket) => {
      this.#open.delete(socket)
      this.#http2.take(socket)
    },
  }

  constructor(app: App, options: ListenOptions) {
    const { stalledResponseMs = 30_000, headersTimeoutMs = 20_000, trustProxy = [] } = options
    const { maxUnreadBytes: maxBytes = 128 * 2 ** 20 } = options
    const { maxConnections: max = 10_000, maxConnectionsPerAddress: maxPerAddress = 1_000 } = options
    const handle = (request: RawRequest, response: RawResponse) => this.#handle(request, response)
    this.#app = app
    this.#options = options
    this.limit = createConnectionLimit({ max, maxPerAddress, proxies: trustProxy })
    this.#http1 = createHttp1(handle, app.inFlight, headersTimeoutMs)
    this.#http2 = new Http2(handle)
    this.#unread = limitUnreadResponses(app.inFlight, this.#http2, { stalledMs: stalledResponseMs, maxBytes })
  }

  accept(socket: Socket): void {
    this.#accepted++
    this.limit.admit(socket)
  }

  /** Called with a connection that can be read: with TLS, after its handshake. */
  serve(socket: Socket): void {
    if (this.#app.draining.aborted) return void socket.destroy()
    this.#open.add(socket)
    socket.once('close', () => this.#open.delete(socket))
    sniff(socket, this.#protocols, this.#options.sniffTimeoutMs ?? SNIFF_TIMEOUT_MS)
  }

  #handle(request: RawRequest, response: RawResponse): void {
    this.#requests++
    const isComplete = () => request.complete
    const session = 'stream' in request ? request.stream.session : undefined
    const socket = 'stream' in request ? session && this.#http2.open.get(session)?.socket : request.socket
    if (socket) this.limit.note(socket, { isComplete, onEnd: (listener) => void response.once('close', listener) })
    if (this.#options.tls) response.setHeader('strict-transport-security', HSTS)
    if (this.#isClosing && request.httpVersionMajor === 1) response.setHeader('connection', 'close')
    this.#unread.watch(response)
    this.#app.handle(request, response)
  }

  /**
   * 1. Readiness fails, if the caller has not seen to that before. The server closes when no connection waits to be
   *    accepted: the kernel would reset it.
   * 2. HTTP/1.1 responses carry `Connection: close`, and HTTP/2 connections get GOAWAY. Keep-alive connections are
   *    served until their callers send no more requests.
   * 3. The app drains: it refuses further requests. Idle connections are closed until no call is in flight.
   * 4. What is still open at the deadline is destroyed.
   */
  async drain(server: net.Server, timeoutMs: number): Promise<void> {
    const deadlineMs = performance.now() + timeoutMs
    this.#app.leave()
    // Node accepts one connection in each turn of the event loop.
    await idleTurn(deadlineMs, () => this.#accepted)
    this.#isClosing = true
    const closed = new Promise((resolve) => server.close(resolve))
    for (const { raw, response } of this.#app.inFlight) {
      if (raw.httpVersionMajor === 1 && !response.headersSent) response.setHeader('connection', 'close')
    }
    this.#http2.close()
    await quiet(Math.min(deadlineMs, performance.now() + KEEP_ALIVE_SERVED_MS), () => this.#requests)
    this.#app.drain()
    while (performance.now() < deadlineMs) {
      this.#closeIdle()
      // An HTTP/2 session closes when its last response is written out.
      if (this.#app.inFlight.size + this.#http2.open.size === 0) break
      await sleepAndRead(20)
    }
    this.destroyAll()
    await closed
  }

  #closeIdle(): void {
    const busy = new Set<unknown>(Array.from(this.#app.inFlight, ({ raw }) => raw.socket))
    for (const socket of this.#open) if (!busy.has(socket)) socket.destroySoon()
  }

  destroyAll(): void {
    this.#unread.stop()
    for (const socket of this.limit.open) socket.destroy()
    this.#http1.close()
  }
}

/** Resolves when no request has arrived for `QUIET_MS`, or the time is up. */
async function quiet(untilMs: number, requests: () => number): Promise<void> {
  for (let before = -1; before !== requests() && performance.now() < untilMs; ) {
    before = requests()
    await sleepAndRead(Math.min(QUIET_MS, untilMs - performance.now()))
  }
}

/**
 * Sleeps, then waits until the bytes that came meanwhile are read: on a busy machine the timer may fire before that.
 */
async function sleepAndRead(ms: number): Promise<void> {
  await sleep(ms)
  await idleTurn()
}

/**
 * Resolves after an idle turn of the event loop. A turn is idle when it was shorter than SHORT_TURN_MS and `count` did
 * not change in it. A busy process may have only long turns, so after ANY_LENGTH_AFTER_MS only `count` decides. After
 * GIVE_UP_AFTER_MS, or at the deadline, any turn will do.
 */
async function idleTurn(deadlineMs = Number.POSITIVE_INFINITY, count = () => 0): Promise<void> {
  const startMs = performance.now()
  const untilMs = Math.min(deadlineMs, startMs + GIVE_UP_AFTER_MS)
  for (;;) {
    const [before, turnStartMs] = [count(), performance.now()]
    await setImmediate()
    const nowMs = performance.now()
    const isShort = nowMs - turnStartMs < SHORT_TURN_MS || nowMs - startMs > ANY_LENGTH_AFTER_MS
    if ((isShort && count() === before) || nowMs > untilMs) return
  }
}

async function openServer(options: ListenOptions, connections: HttpConnections): Promise<net.Server> {
  const server = options.tls
    ? tls.createServer({
        ...options.tls,
        ALPNProtocols: ['h2', 'http/1.1'],
        handshakeTimeout: options.sniffTimeoutMs ?? SNIFF_TIMEOUT_MS,
        allowHalfOpen: true,
        noDelay: true,
      })
    : net.createServer({ allowHalfOpen: true, noDelay: true })
  server.on(options.tls ? 'secureConnection' : 'connection', (socket: Socket) => connections.serve(socket))
  server.prependListener('connection', (socket: Socket) => connections.accept(socket))
  // After a handshake that failed or took too long the connection would stay open.
  server.on('tlsClientError', (_error: Error, socket: Socket) => socket.destroy())
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, options.host, () => {
      server.off('error', reject)
      // A failed accept concerns one connection only.
      server.on('error', () => {})
      resolve()
    })
  })
  return server
}

function urlOf(server: net.Server, options: ListenOptions): string {
  const { port, family } = server.address() as AddressInfo
  const host = family === 'IPv6' && options.host.includes(':') ? `[${options.host}]` : options.host
  return `${options.tls ? 'https' : 'http'}://${host}:${port}`
}
