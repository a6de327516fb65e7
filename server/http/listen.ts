import net, { type AddressInfo, type Socket } from 'node:net'
import { setTimeout as delay, setImmediate } from 'node:timers/promises'
import tls from 'node:tls'
import type { App } from './app.ts'
import type { RawRequest, RawResponse } from './call.ts'
import { createDoor } from './door.ts'
import { createHttp1 } from './http1.ts'
import { createHttp2 } from './http2.ts'
import { refuseRequest } from './raw-response.ts'
import { repeatedHeader } from './repeated-header.ts'
import { sniff } from './sniff.ts'
import { cutStalledResponses } from './stalled-responses.ts'

export interface ListenOptions {
  host: string
  /** 0 takes a free port. */
  port: number
  /** PEM. */
  tls?: { cert: string | Buffer; key: string | Buffer }
  /** A second listener that serves the same, for callers that expect gRPC on a port of its own. */
  grpcPort?: number
  /** Time for the first bytes of a connection, and for a TLS handshake. */
  sniffTimeoutMs?: number
  /** Time for the head of an HTTP/1.1 request to arrive. */
  headersTimeoutMs?: number
  /** A response of which the caller reads nothing for this long, or up to twice as long, is cut. */
  stalledResponseMs?: number
  /** Open connections: in all, and from one IPv4 address or one /64 of IPv6. */
  maxConnections?: number
  maxConnectionsOfOne?: number
  /** Addresses and ranges of proxies: the second bound does not hold for them. */
  trustProxy?: readonly string[]
}

export interface Listener {
  url: string
  port: number
  grpcUrl: string | undefined
  /** How many connections are open. */
  connections(): number
  /**
   * Stops accepting and finishes what was accepted: GOAWAY on HTTP/2, `Connection: close` on HTTP/1.1. Kept connections
   * are served until no more requests arrive on them, then idle ones are closed. Calls that outlast the time are cut.
   */
  close(options: { timeoutMs: number }): Promise<void>
}

/** After this long without a request on any kept connection, their callers have no more requests on the way. */
const QUIET_MS = 500
/** How long kept connections are served at most after the listener has closed. */
const SETTLE_MS = 5_000
/** The longest turn of the event loop that did no work. */
const SHORT_TURN_MS = 0.5
const SHORT_WITHIN_MS = 1_000
const UNCHANGED_WITHIN_MS = 10_000

/** Serves an app on one port: HTTP/1.1 and HTTP/2, with or without TLS. Rejects when it cannot listen on a port. */
export async function listen(app: App, options: ListenOptions): Promise<Listener> {
  const { stalledResponseMs = 30_000, sniffTimeoutMs = 10_000, headersTimeoutMs = 20_000, trustProxy = [] } = options
  const { maxConnections = 10_000, maxConnectionsOfOne = 1_000 } = options
  const door = createDoor({ most: maxConnections, mostOfOne: maxConnectionsOfOne, proxies: trustProxy })
  let closing = false
  let accepted = 0
  let requests = 0

  const handle = (request: RawRequest, response: RawResponse) => {
    requests++
    if (closing && request.httpVersionMajor === 1) response.setHeader('connection', 'close')
    const repeated = repeatedHeader(request.rawHeaders)
    if (repeated === undefined) app.handle(request, response)
    else refuseRequest(response, `The ${repeated} header is given twice.`)
  }
  const http1 = createHttp1(handle, app.inFlight, headersTimeoutMs)
  const http2 = createHttp2(handle)
  const stopCutting = cutStalledResponses(app.inFlight, http2, stalledResponseMs)
  /** Connections of HTTP/1.1, and connections whose protocol is not known yet. */
  const connections = new Set<Socket>()
  const protocols = {
    http1: (socket: Socket) => http1.emit('connection', socket),
    http2: (socket: Socket) => {
      connections.delete(socket)
      http2.take(socket)
    },
  }
  const enter = (socket: Socket) => {
    accepted++
    door.enter(socket)
  }
  const route = (socket: Socket) => {
    if (app.draining.aborted) return void socket.destroy()
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
    sniff(socket, protocols, sniffTimeoutMs)
  }
  const ports = options.grpcPort === undefined ? [options.port] : [options.port, options.grpcPort]
  const fronts = await Promise.all(
    ports.map((port) => openFront({ port, host: options.host, tls: options.tls, sniffTimeoutMs, enter, route })),
  )
  const [url, grpcUrl] = fronts.map((front) => urlOf(front, options))

  async function close({ timeoutMs }: { timeoutMs: number }) {
    const deadlineMs = performance.now() + timeoutMs
    app.leave()
    // A closing listener makes the kernel reset connections that wait to be accepted. Each turn accepts one of them.
    await idleTurn(deadlineMs, () => accepted)
    closing = true
    const closed = fronts.map((front) => new Promise((resolve) => front.close(resolve)))
    for (const { raw, response } of app.inFlight) {
      if (raw.httpVersionMajor === 1 && !response.headersSent) response.setHeader('connection', 'close')
    }
    http2.close()
    await quiet(Math.min(deadlineMs, performance.now() + SETTLE_MS), () => requests)
    app.drain()
    while (performance.now() < deadlineMs) {
      closeIdle()
      // An HTTP/2 session closes when its last response is written out.
      if (app.inFlight.size + http2.open.size === 0) break
      await pass(20)
    }
    stopCutting()
    for (const socket of door.inside) socket.destroy()
    http1.close()
    await Promise.all(closed)
  }

  function closeIdle(): void {
    const busy = new Set<unknown>(Array.from(app.inFlight, ({ raw }) => raw.socket))
    for (const socket of connections) if (!busy.has(socket)) socket.destroySoon()
  }

  const { port } = fronts[0]!.address() as AddressInfo
  return { url: url!, port, grpcUrl, connections: () => door.inside.size, close }
}

/** Resolves when no request has arrived for `QUIET_MS`, or the time is up. */
async function quiet(untilMs: number, requests: () => number): Promise<void> {
  for (let before = -1; before !== requests() && performance.now() < untilMs; ) {
    before = requests()
    await pass(Math.min(QUIET_MS, untilMs - performance.now()))
  }
}

/** Waits, and then until what has arrived meanwhile is read: on a busy machine the timer may fire before that. */
async function pass(ms: number): Promise<void> {
  await delay(ms)
  await idleTurn()
}

/**
 * Resolves in a turn of the event loop that had nothing to do: it was short, and `count` stayed the same. A busy
 * process has no short turns: after a while a turn without a change is enough, and in the end any turn.
 */
async function idleTurn(deadlineMs = Number.POSITIVE_INFINITY, count = () => 0): Promise<void> {
  const startMs = performance.now()
  const untilMs = Math.min(deadlineMs, startMs + UNCHANGED_WITHIN_MS)
  for (;;) {
    const [before, turnStartMs] = [count(), performance.now()]
    await setImmediate()
    const nowMs = performance.now()
    const isShort = nowMs - turnStartMs < SHORT_TURN_MS || nowMs - startMs > SHORT_WITHIN_MS
    if ((isShort && count() === before) || nowMs > untilMs) return
  }
}

interface FrontOptions {
  port: number
  host: string
  tls: ListenOptions['tls']
  sniffTimeoutMs: number
  enter(socket: Socket): void
  route(socket: Socket): void
}

async function openFront({ port, host, tls: secure, sniffTimeoutMs, enter, route }: FrontOptions): Promise<net.Server> {
  const front = secure
    ? tls.createServer({
        ...secure,
        ALPNProtocols: ['h2', 'http/1.1'],
        handshakeTimeout: sniffTimeoutMs,
        allowHalfOpen: true,
        noDelay: true,
      })
    : net.createServer({ allowHalfOpen: true, noDelay: true })
  front.on(secure ? 'secureConnection' : 'connection', route)
  front.prependListener('connection', enter)
  // After a handshake that failed or took too long the connection would stay open.
  front.on('tlsClientError', (_error: Error, socket: Socket) => socket.destroy())
  await new Promise<void>((resolve, reject) => {
    front.once('error', reject)
    front.listen(port, host, () => {
      front.off('error', reject)
      // A failed accept concerns one connection only.
      front.on('error', () => {})
      resolve()
    })
  })
  return front
}

function urlOf(front: net.Server, options: ListenOptions): string {
  const { port, family } = front.address() as AddressInfo
  const host = family === 'IPv6' && options.host.includes(':') ? `[${options.host}]` : options.host
  return `${options.tls ? 'https' : 'http'}://${host}:${port}`
}
