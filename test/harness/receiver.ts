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

/** A request as it came. */
export interface Received {
  method: string
  path: string
  /** By lower-case name. */
  headers: Record<string, string>
  /** Names and values in turn, as they were written. */
  rawHeaders: string[]
  body: Buffer
  /** Unix milliseconds at which its last octet was there. */
  receivedAtMs: number
  /** Of the receiver, from 1. */
  connection: number
  socket: Socket
}

export type Fault =
  /** Not one octet of an answer. */
  | 'hang'
  | 'close'
  | 'reset'
  /** A head that never ends, one octet at a time. */
  | 'drip_head'
  /** Then a body, one octet at a time, without end. */
  | 'drip_body'
  /** As much as the other side reads. */
  | 'endless_body'
  | 'endless_interim'
  | 'huge_head'
  /** The body ends before the length it announced, with the connection. */
  | 'short_body'
  | 'garbage'

export interface Answer {
  /** 200 by default. */
  status?: number
  headers?: Record<string, string>
  body?: string | Buffer
  /** Before anything is written. */
  delayMs?: number
  fault?: Fault
  /** Between two octets of a drip; 50 by default. */
  everyMs?: number
}

type Script = Answer | ((request: Received) => Answer | Promise<Answer>)

export interface Receiver {
  /** Ends with `/hook`. */
  url: string
  port: number
  /** In the order of their last octets. */
  requests: Received[]
  /** What it answers from now on; 200 by default. */
  script: Script
  /** Accepted so far. */
  connections: number
  /** Cuts every connection there is, and accepts more. */
  cut(): void
  close(): Promise<void>
}

interface Options {
  /** `true`: with a certificate for 127.0.0.1 and receiver.example.test, of RECEIVER_AUTHORITY. `broken`: no TLS behind an https URL. */
  tls?: boolean | 'broken' | { cert: string; key: string }
  port?: number
}

/** A webhook receiver on loopback whose answers the test sets. */
export async function startReceiver({ tls = false, port = 0 }: Options = {}): Promise<Receiver> {
  const sockets = new Set<Socket>()
  const receiver: Receiver = { url: '', port: 0, requests: [], script: {}, connections: 0, cut, close }
  const numbers = new WeakMap<Socket, number>()
  const server = serverOf(tls, async (request, response) => {
    const received = await read(request, numbers.get(request.socket)!)
    receiver.requests.push(received)
    const { script } = receiver
    const answer = typeof script === 'function' ? await script(received) : script
    if (answer.delayMs) await new Promise((resolve) => setTimeout(resolve, answer.delayMs))
    if (answer.fault) return FAULTS[answer.fault](request.socket, answer)
    response.writeHead(answer.status ?? 200, answer.headers).end(answer.body)
  })
  const counted = tls && tls !== 'broken' ? 'secureConnection' : 'connection'
  server.on(counted, (socket: Socket) => numbers.set(socket, receiver.connections))
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
    const closed = once(server, 'close')
    server.close()
    cut()
    await closed
  }
  return receiver
}

type Listener = (request: IncomingMessage, response: ServerResponse) => Promise<void>

function serverOf(tls: Options['tls'], answer: Listener): Server {
  const listener: RequestListener = (request, response) =>
    void answer(request, response).catch(() => request.socket.destroy())
  // Whoever asks has to have time limits of their own.
  const patient = { requestTimeout: 0, headersTimeout: 0, keepAliveTimeout: 0, noDelay: true }
  if (tls === 'broken') return createTcpServer((socket) => void socket.once('data', () => socket.end('not TLS\r\n')))
  if (!tls) return createHttpServer(patient, listener)
  return createHttpsServer({ ...patient, ...(tls === true ? RECEIVER_CERTIFICATE : tls) }, listener)
}

async function read(request: IncomingMessage, connection: number): Promise<Received> {
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

const FAULTS: Record<Fault, (socket: Socket, answer: Answer) => void> = {
  hang() {},
  close: (socket) => void socket.end(),
  reset: (socket) => void socket.resetAndDestroy(),
  drip_head: (socket, answer) => drip(socket, `${headOf(answer)}X-Slow: `, answer.everyMs),
  drip_body: (socket, answer) => drip(socket, `${headOf(answer)}Content-Length: 1000000\r\n\r\n`, answer.everyMs),
  endless_body: (socket, answer) => flood(socket, `${headOf(answer)}\r\n`, 'endless '.repeat(2_048)),
  endless_interim: (socket) => flood(socket, '', 'HTTP/1.1 103 Early Hints\r\n\r\n'),
  huge_head: (socket, answer) => flood(socket, headOf(answer), `X-Huge: ${'h'.repeat(8_192)}\r\n`),
  short_body: (socket, answer) =>
    void socket.end(`${headOf(answer)}Content-Length: 1000\r\n\r\n${answer.body ?? 'short'}`),
  garbage: (socket) => void socket.end('\u0000\u0001 this is not HTTP\r\n\r\n'),
}

/** The head but for the empty line. */
function headOf({ status = 200, headers = {} }: Answer): string {
  return [`HTTP/1.1 ${status} Status`, ...Object.entries(headers).map((header) => header.join(': ')), ''].join('\r\n')
}

function drip(socket: Socket, head: string, everyMs = 50): void {
  socket.write(head)
  const timer = setInterval(() => socket.write('x'), everyMs)
  socket.once('close', () => clearInterval(timer))
}

/** As fast as the other side reads, until it leaves. */
function flood(socket: Socket, head: string, piece: string): void {
  socket.write(head)
  const more = () => {
    while (!socket.destroyed && socket.write(piece));
  }
  socket.on('drain', more)
  more()
}
