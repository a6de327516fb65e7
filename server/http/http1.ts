import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { fail } from '../errors.ts'
import type { Call } from './call.ts'
import { answerRaw, parserMessage, refuseRequest } from './raw-response.ts'

export const MAX_HEADER_BYTES = 16 * 1024
const KEEP_ALIVE_MS = 65_000
/** The first 102 is answered with a reset when the caller is gone, and the next one finds that out. */
const PROBES_MS = [0, 100, 1_000]
/** How long a caller with a broken request is read from after its answer. */
const LINGER_MS = 5_000

type Handle = (request: IncomingMessage, response: ServerResponse) => void

interface Exchange {
  request: IncomingMessage
  response: ServerResponse
}

/** HTTP/1.1 and 1.0 on connections it is given by its event `connection`. */
export function createHttp1(handle: Handle, inFlight: ReadonlySet<Call>, headersTimeoutMs: number): Server {
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: headersTimeoutMs,
    // Bodies have a time of their own, which is shorter and answers in order; this is the net below it.
    requestTimeout: 180_000,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: 1_000,
    requireHostHeader: false,
  })
  // Node does not document it: a caller that ends its side is not taken for one that left.
  Object.assign(server, { httpAllowHalfOpen: true })
  const latest = new WeakMap<Socket, Exchange>()
  const refused = new WeakSet<Socket>()

  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    latest.set(request.socket, { request, response })
    if (request.headers.host !== undefined || request.httpVersionMinor === 0) handle(request, response)
    else refuseRequest(response, 'The Host header is missing.')
  }
  server.on('request', onRequest)
  // 100 Continue is sent when the body is about to be read: not before the key was checked.
  server.on('checkContinue', onRequest)
  server.on('checkExpectation', onRequest)
  server.on('connection', (socket: Socket) => socket.on('end', () => probe(socket)))
  server.on('connect', async (_request, socket) => {
    await answersBefore(socket as Socket)
    answerRaw(socket, fail('method_not_allowed', 'This is no proxy.'))
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || error.code === 'EPIPE') socket.destroy()
    else void refuse(socket as Socket, error)
  })
  // It is given its connections and never listens by itself, yet its time-outs begin with this event.
  server.emit('listening')

  /** Answers bytes that are not HTTP: in the place of their request's answer, or after the answers to those before them. */
  async function refuse(socket: Socket, error: NodeJS.ErrnoException): Promise<void> {
    // A broken parser reports every further chunk.
    if (refused.has(socket)) return
    refused.add(socket)
    setTimeout(() => socket.destroy(), LINGER_MS).unref()
    const fault = fail('invalid_payload', parserMessage(error.code))
    const exchange = latest.get(socket)
    const inBody = exchange !== undefined && !exchange.request.complete
    if (!inBody) {
      await answersBefore(socket)
      return answerRaw(socket, fault)
    }
    // The answer has begun or is out, whatever was wrong with the rest of the body.
    if (exchange.response.headersSent) return
    const call = [...inFlight].find(({ raw }) => raw === exchange.request)
    if (call) {
      // Its handler is not to answer any more.
      call.closed = fault
      call.code = 'invalid_payload'
    }
    answerRaw(socket, fault, call?.id)
  }

  async function answersBefore(socket: Socket): Promise<void> {
    const response = latest.get(socket)?.response
    if (response && !response.writableFinished && !response.closed) await once(response, 'close')
  }

  /**
   * A caller that has ended its side may wait for its answer (RFC 9112 9.6) or be gone: both look the same. An interim response
   * tells them apart, since the first ignores it and the system of the other resets the connection.
   */
  function probe(socket: Socket): void {
    const exchange = latest.get(socket)
    if (!exchange || exchange.response.writableEnded) return
    const { request, response } = exchange
    if (request.httpVersionMinor === 0) return void socket.destroy()
    const timers = PROBES_MS.map((ms) => setTimeout(() => response.headersSent || response.writeProcessing(), ms))
    response.once('close', () => timers.forEach(clearTimeout))
  }

  return server
}
