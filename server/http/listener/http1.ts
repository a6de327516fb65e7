import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { fail } from '../../errors.ts'
import type { Call } from '../call.ts'
import { MAX_PARSED_HEADER_BYTES } from './header-fault.ts'
import { createPieceLimit, TOO_MANY_SMALL_PIECES } from './pieces.ts'
import { parserMessage, refuseRequest, respondRaw } from './raw-response.ts'

export const KEEP_ALIVE_MS = 65_000
/** Times of the 102 responses after the caller has ended its side: see `probe`. The second one detects the reset. */
const PROBES_MS = [0, 100, 1_000]
/**
 * The most requests of a connection that wait for their responses, like the streams of HTTP/2. Node parses a whole
 * chunk at once: without this limit 64 KiB of small requests would delay all other calls by half a second.
 */
const MAX_PIPELINED = 100
/** How long a connection with a broken request stays open, so that its caller can read the response. */
const LINGER_MS = 5_000

type Handle = (request: IncomingMessage, response: ServerResponse) => void

interface Http1Exchange {
  request: IncomingMessage
  response: ServerResponse
  /** The response to the request before it on the connection. */
  before?: ServerResponse
}

/** Serves HTTP/1.1 and 1.0 on the connections that the listener hands over with `server.emit('connection', socket)`. */
export function createHttp1(handle: Handle, inFlight: ReadonlySet<Call>, headersTimeoutMs: number): Server {
  const server = createServer({
    maxHeaderSize: MAX_PARSED_HEADER_BYTES,
    headersTimeout: headersTimeoutMs,
    // A last resort. Bodies have their own shorter timeout, whose response comes in order.
    requestTimeout: 180_000,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: 1_000,
    requireHostHeader: false,
  })
  // Not documented by Node: a caller that ends its side does not count as gone.
  Object.assign(server, { httpAllowHalfOpen: true })
  const connections = new WeakMap<Socket, Http1Connection>()
  const connectionOf = (socket: Socket) => {
    const known = connections.get(socket)
    if (known) return known
    const connection = new Http1Connection(socket, inFlight)
    connections.set(socket, connection)
    return connection
  }
  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    // Node may decide to emit an error while the reader of the body listens, and emit it when the reader has gone.
    // Without a listener the process would end.
    request.on('error', () => {})
    if (!connectionOf(request.socket).admit(request, response)) return
    if (request.headers.host !== undefined || request.httpVersionMinor === 0) handle(request, response)
    else refuseRequest(response, 'The Host header is missing. Send it with the name of this server.')
  }
  // 100 Continue is sent just before the body is read, after the key was checked.
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, onRequest)
  server.on('connection', connectionOf)
  server.on('connect', (_request, socket) => void connectionOf(socket as Socket).refuseConnect())
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || error.code === 'EPIPE') socket.destroy()
    else void connectionOf(socket as Socket).refuse(parserMessage(error))
  })
  // This server never listens, but its timeouts start with this event.
  server.emit('listening')
  return server
}

class Http1Connection {
  readonly #socket: Socket
  readonly #inFlight: ReadonlySet<Call>
  readonly #watchPieces = createPieceLimit(() => void this.refuse(TOO_MANY_SMALL_PIECES))
  #latest: Http1Exchange | undefined
  #waiting = 0
  #isRefused = false

  constructor(socket: Socket, inFlight: ReadonlySet<Call>) {
    this.#socket = socket
    this.#inFlight = inFlight
    socket.on('end', () => this.#latest && probe(socket, this.#latest))
  }

  /** Whether a request may wait for its response. A connection with too many of them ends, with all that follow. */
  admit(request: IncomingMessage, response: ServerResponse): boolean {
    if (this.#socket.destroyed) return false
    if (this.#waiting >= MAX_PIPELINED) {
      this.#socket.destroy()
      stopParsing(this.#socket)
      return false
    }
    this.#waiting++
    response.once('close', () => this.#waiting--)
    this.#watchPieces(request)
    // Not documented by Node: what arrives after a response would be dropped before it is counted.
    Object.assign(request, { _dump: () => request.resume() })
    this.#latest = { request, response, before: this.#latest?.response }
    return true
  }

  /**
   * Responds to bytes that are not HTTP, or come in too many pieces, after the responses to earlier requests. In a
   * request's body they end that request.
   */
  async refuse(message: string): Promise<void> {
    // A parser that has failed reports every further chunk.
    if (this.#isRefused) return
    this.#isRefused = true
    const socket = this.#socket
    setTimeout(() => socket.destroy(), LINGER_MS).unref()
    const fault = fail('invalid_payload', message)
    const exchange = this.#latest
    const inBody = exchange !== undefined && !exchange.request.complete
    if (!inBody) {
      await ended(exchange?.response)
      return respondRaw(socket, fault)
    }
    // The response has started, so the fault in the rest of the body can no longer be reported.
    if (exchange.response.headersSent) return
    const call = [...this.#inFlight].find(({ raw }) => raw === exchange.request)
    if (call) {
      // Keeps its handler from responding.
      call.closed = fault
      call.code = 'invalid_payload'
    }
    await ended(exchange.before)
    respondRaw(socket, fault, call?.id)
  }

  async refuseConnect(): Promise<void> {
    await ended(this.#latest?.response)
    respondRaw(this.#socket, fail('method_not_allowed', 'CONNECT is not supported: this server is not a proxy.'))
  }
}

/** Resolves also when a response failed. */
async function ended(response: ServerResponse | undefined): Promise<void> {
  if (!response || response.writableFinished || response.closed) return
  await new Promise((resolve) => response.once('close', resolve))
}

/**
 * Without this, the parser would still make a request of each of the up to 2,000 that are left in the chunk, which
 * takes 20 ms. Not documented by Node: the number means that the rest of the bytes is not HTTP.
 */
function stopParsing(socket: Socket): void {
  const { parser } = socket as { parser?: { onIncoming: () => number } }
  if (parser) parser.onIncoming = noHttp
}
const noHttp = () => 2

/**
 * A caller that has ended its side may wait for its response (RFC 9112 9.6) or be gone: both look the same. An
 * interim response tells them apart. A waiting caller ignores it; the system of a caller that is gone resets the
 * connection.
 */
function probe(socket: Socket, { request, response }: Http1Exchange): void {
  if (response.writableEnded) return
  if (request.httpVersionMinor === 0) return void socket.destroy()
  const timers = PROBES_MS.map((ms) => setTimeout(() => response.headersSent || response.writeProcessing(), ms))
  response.once('close', () => timers.forEach(clearTimeout))
}
