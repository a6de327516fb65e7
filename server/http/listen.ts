import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import http2, { type Http2Session } from 'node:http2'
import net, { type AddressInfo, type Socket } from 'node:net'
import { setTimeout as delay, setImmediate } from 'node:timers/promises'
import tls from 'node:tls'
import type { App } from './app.ts'
import type { RawRequest, RawResponse } from './call.ts'
import { answerRaw, parserMessage } from './raw-answer.ts'
import { sniff } from './sniff.ts'

export interface ListenOptions {
  host: string
  /** 0 takes a free one. */
  port: number
  /** PEM. */
  tls?: { cert: string | Buffer; key: string | Buffer }
  /** A second listener, for callers that want gRPC on a port of its own. It serves the same. */
  grpcPort?: number
  /** Time for the first bytes of a connection, and for a TLS handshake. */
  sniffTimeoutMs?: number
  /** Time for the head of an HTTP/1.1 request. */
  headersTimeoutMs?: number
}

export interface Listener {
  url: string
  port: number
  grpcUrl: string | undefined
  /**
   * Stops accepting and answers what was accepted: GOAWAY on HTTP/2, `Connection: close` on HTTP/1.1, `transient_failure` for calls
   * that come on kept connections meanwhile. What is not answered within the time is cut.
   */
  close(options: { timeoutMs: number }): Promise<void>
}

const MAX_HEADER_BYTES = 16 * 1024
const KEEP_ALIVE_MS = 65_000
const IDLE_SESSION_MS = 300_000
/** A caller that sends on a kept connection while the drain begins gets an answer instead of a reset. */
const DRAIN_GRACE_MS = 500

/** Serves an app on one port: HTTP/1.1 and HTTP/2, with TLS or in clear. Rejects when a port cannot be had. */
export async function listen(app: App, options: ListenOptions): Promise<Listener> {
  const open = new Set<Socket>()
  const handle = (request: RawRequest, response: RawResponse) => {
    if (request.httpVersionMajor === 1 && app.draining.aborted) response.setHeader('connection', 'close')
    app.handle(request, response)
  }
  const http1 = createHttp1(handle, options, (socket) => [...app.inFlight].some(({ raw }) => raw.socket === socket))
  const sessions = new Set<Http2Session>()
  const http2 = createHttp2(handle, sessions, app.draining)
  const protocols = {
    http1: (socket: Socket) => http1.emit('connection', socket),
    http2: (socket: Socket) => {
      // Only HTTP/1.1 knows callers that end their side and still want an answer. Here the session would never close.
      socket.allowHalfOpen = false
      http2.emit('connection', socket)
    },
  }
  const route = (socket: Socket) => sniff(socket, protocols, options.sniffTimeoutMs ?? 10_000)
  const ports = options.grpcPort === undefined ? [options.port] : [options.port, options.grpcPort]
  const fronts = await Promise.all(ports.map((port) => openFront(route, port, options, open)))
  const [url, grpcUrl] = fronts.map((front) => urlOf(front, options))

  async function close({ timeoutMs }: { timeoutMs: number }) {
    const deadline = performance.now() + timeoutMs
    app.drain()
    const closed = fronts.map((front) => new Promise((resolve) => front.close(resolve)))
    for (const { raw, response } of app.inFlight) {
      if (raw.httpVersionMajor === 1 && !response.headersSent) response.setHeader('connection', 'close')
    }
    for (const session of sessions) session.close()
    await pass(Math.min(DRAIN_GRACE_MS, timeoutMs))
    // An HTTP/2 session closes when the last answer on it is written out.
    while (app.inFlight.size + sessions.size > 0 && performance.now() < deadline) await pass(20)
    for (const socket of open) socket.destroy()
    http1.close()
    await Promise.all(closed)
  }

  return { url: url!, port: (fronts[0]!.address() as AddressInfo).port, grpcUrl, close }
}

/** Waits, and then until what has arrived meanwhile is read: on a busy machine a timer may be over before that. */
async function pass(ms: number): Promise<void> {
  await delay(ms)
  await setImmediate()
}

type Handle = (request: RawRequest, response: RawResponse) => void

function createHttp1(handle: Handle, options: ListenOptions, isAnswering: (socket: Socket) => boolean) {
  const server = http.createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: options.headersTimeoutMs ?? 20_000,
    // Bodies have a time of their own, which is shorter and answers in order; this is the net below it.
    requestTimeout: 180_000,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: 1_000,
    requireHostHeader: false,
  })
  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    if (request.headers.host !== undefined || request.httpVersionMinor === 0) handle(request, response)
    else answerRaw(request.socket, 'invalid_payload', 'The Host header is missing.')
  }
  server.on('request', onRequest)
  // 100 Continue is sent when the body is about to be read: not before the key was checked.
  server.on('checkContinue', onRequest)
  server.on('checkExpectation', onRequest)
  server.on('connect', (_request, socket) => answerRaw(socket, 'method_not_allowed', 'This is no proxy.'))
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (isAnswering(socket as Socket) || error.code === 'ECONNRESET' || error.code === 'EPIPE') socket.destroy()
    else answerRaw(socket, 'invalid_payload', parserMessage(error.code))
  })
  // It is given its connections and never listens by itself, yet its time-outs begin with this event.
  server.emit('listening')
  return server
}

function createHttp2(handle: Handle, sessions: Set<Http2Session>, draining: AbortSignal) {
  const server = http2.createServer({
    settings: { maxConcurrentStreams: 100, maxHeaderListSize: MAX_HEADER_BYTES },
    // Against rapid reset: a connection may cancel so many requests at once, then so many a second.
    streamResetBurst: 200,
    streamResetRate: 33,
  })
  server.on('request', handle)
  server.on('checkContinue', handle)
  server.on('session', (session) => {
    sessions.add(session)
    let streams = 0
    session.on('stream', (stream) => {
      streams++
      stream.once('close', () => streams--)
    })
    session.setTimeout(IDLE_SESSION_MS, () => streams === 0 && session.close())
    session.once('close', () => sessions.delete(session))
    if (draining.aborted) session.close()
  })
  server.on('sessionError', () => {})
  return server
}

async function openFront(
  route: (socket: Socket) => void,
  port: number,
  options: ListenOptions,
  open: Set<Socket>,
): Promise<net.Server> {
  const front = options.tls
    ? tls.createServer({
        ...options.tls,
        ALPNProtocols: ['h2', 'http/1.1'],
        handshakeTimeout: options.sniffTimeoutMs ?? 10_000,
        allowHalfOpen: true,
        noDelay: true,
      })
    : net.createServer({ allowHalfOpen: true, noDelay: true })
  front.on(options.tls ? 'secureConnection' : 'connection', route)
  front.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  await new Promise<void>((resolve, reject) => {
    front.once('error', reject)
    front.listen(port, options.host, () => {
      front.off('error', reject)
      // An accept that fails concerns one connection.
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
