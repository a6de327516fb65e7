import { once } from 'node:events'
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { RECEIVER_CERTIFICATE } from './certificates.ts'
import { takes } from './waits.ts'

/** A request as it arrived. */
export interface ReceivedRequest {
  method: string
  path: string
  /** Values by lower-case name. */
  headers: Record<string, string>
  /** Names and values in turn, as the sender wrote them. */
  rawHeaders: string[]
  body: Buffer
  /** When the last octet arrived, in Unix milliseconds. */
  receivedAtMs: number
  /** The number of the connection to this receiver, from 1. */
  connection: number
  socket: Socket
}

export type Fault =
  /** Sends no octet of a response. */
  | 'hang'
  | 'close'
  | 'reset'
  /** Sends a head that never ends, one octet at a time. */
  | 'drip_head'
  /** Sends the head, then a body that never ends, one octet at a time. */
  | 'drip_body'
  /** Sends a body as fast as the client reads it, without end. */
  | 'endless_body'
  | 'endless_interim'
  | 'huge_head'
  /** Closes the connection before the announced length of the body is sent. */
  | 'short_body'
  | 'garbage'

export interface ScriptedResponse {
  /** 200 by default. */
  status?: number
  headers?: Record<string, string>
  body?: string | Buffer
  /** How long to wait before anything is written. */
  delayMs?: number
  fault?: Fault
  /** The time between two octets of a drip; 50 by default. */
  everyMs?: number
}

type Script = ScriptedResponse | ((request: ReceivedRequest) => ScriptedResponse | Promise<ScriptedResponse>)

export interface Receiver {
  /** The receiver's URL. Its path is `/hook`. */
  url: string
  port: number
  /** In the order in which their last octets arrived. */
  requests: ReceivedRequest[]
  /** The response to every later request; 200 by default. */
  script: Script
  /** The number of connections accepted so far. */
  connections: number
  /** Resets every open connection. New ones are accepted. */
  cut(): void
  close(): Promise<void>
}

interface Options {
  /** `true` means RECEIVER_CERTIFICATE. `broken` means an https URL whose server does not speak TLS. */
  tls?: boolean | 'broken' | { cert: string; key: string }
  port?: number
}

/** Starts a webhook receiver on loopback whose responses the test sets. */
export async function startReceiver({ tls = false, port = 0 }: Options = {}): Promise<Receiver> {
  const sockets = new Set<Socket>()
  const receiver: Receiver = { url: '', port: 0, requests: [], script: {}, connections: 0, cut, close }
  const numbers = new WeakMap<Socket, number>()
  const server = serverOf(tls, async (request, response) => {
    const receivedRequest = await read(request, numbers.get(request.socket)!)
    receiver.requests.push(receivedRequest)
    const { script } = receiver
    const scripted = typeof script === 'function' ? await script(receivedRequest) : script
    if (scripted.delayMs) await takes(scripted.delayMs)
    if (scripted.fault) return FAULTS[scripted.fault](request.socket, scripted)
    response.writeHead(scripted.status ?? 200, scripted.headers).end(scripted.body)
  })
  const connectionEvent = tls && tls !== 'broken' ? 'secureConnection' : 'connection'
  server.on(connectionEvent, (socket: Socket) => numbers.set(socket, receiver.connections))
  server.prependListener('connection', (socket: Socket) => {
    receiver.connections++
    sockets.add(socket.on('error', () => {}).on('close', () => sockets.delete(socket)))
  })
  server.on('tlsClientError', () => {})
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  receiver.port = (server.address() as AddressInfo).port
  receiver.url = `http${tls ? 's' : ''}://127.0.0.1:${receiver.port}/hook`

  function cut(): void {
    for (const socket of sockets) socket.resetAndDestroy()
  }

  async function close(): Promise<void> {
    const close = once(server, 'close')
    server.close()
    cut()
    await close
  }
  return receiver
}

type Listener = (request: IncomingMessage, response: ServerResponse) => Promise<void>

function serverOf(tls: Options['tls'], respond: Listener): Server {
  const listener: RequestListener = (request, response) =>
    void respond(request, response).catch(() => request.socket.destroy())
  // The receiver sets no time limits: the client must have its own.
  const patient = { requestTimeout: 0, headersTimeout: 0, keepAliveTimeout: 0, noDelay: true }
  if (tls === 'broken') return createTcpServer((socket) => void socket.once('data', () => socket.end('not TLS\r\n')))
  if (!tls) return createHttpServer(patient, listener)
  return createHttpsServer({ ...patient, ...(tls === true ? RECEIVER_CERTIFICATE : tls) }, listener)
}

async function read(request: IncomingMessage, connection: number): Promise<ReceivedRequest> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return {
    method: request.method!,
    path: request.url!,
    headers: request.headers as Record<string, string>,
    rawHeaders: request.rawHeaders,
    body: Buffer.concat(chunks),
    receivedAtMs: Date.now(),
    connection,
    socket: request.socket,
  }
}

const FAULTS: Record<Fault, (socket: Socket, response: ScriptedResponse) => void> = {
  hang() {},
  close: (socket) => void socket.end(),
  reset: (socket) => void socket.resetAndDestroy(),
  drip_head: (socket, response) => drip(socket, `${headOf(response)}X-Slow: `, response.everyMs),
  drip_body: (socket, response) => drip(socket, `${headOf(response)}Content-Length: 1000000\r\n\r\n`, response.everyMs),
  endless_body: (socket, response) => flood(socket, `${headOf(response)}\r\n`, 'endless '.repeat(2_048)),
  endless_interim: (socket) => flood(socket, '', 'HTTP/1.1 103 Early Hints\r\n\r\n'),
  huge_head: (socket, response) => flood(socket, headOf(response), `X-Huge: ${'h'.repeat(8_192)}\r\n`),
  short_body: (socket, response) =>
    void socket.end(`${headOf(response)}Content-Length: 1000\r\n\r\n${response.body ?? 'short'}`),
  garbage: (socket) => void socket.end('\u0000\u0001 this is not HTTP\r\n\r\n'),
}

/** The head without the empty line that ends it. */
function headOf({ status = 200, headers = {} }: ScriptedResponse): string {
  return [`HTTP/1.1 ${status} Status`, ...Object.entries(headers).map((header) => header.join(': ')), ''].join('\r\n')
}

function drip(socket: Socket, head: string, everyMs = 50): void {
  socket.write(head)
  const timer = setInterval(() => socket.write('x'), everyMs)
  socket.once('close', () => clearInterval(timer))
}

/** Sends as fast as the client reads, until the client leaves. */
function flood(socket: Socket, head: string, piece: string): void {
  socket.write(head)
  const more = () => {
    while (!socket.destroyed && socket.write(piece));
  }
  socket.on('drain', more)
  more()
}
