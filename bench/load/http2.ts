import { connect, type Socket } from 'node:net'
import { startWorker, type Worker, work } from './process.ts'

export interface Http2Run {
  port: number
  /** The same for each request, pseudo-headers first. */
  headers: [name: string, value: string][]
  /** In base64. Without a body the requests end with their headers. */
  body?: string
  /** Text in Latin-1 that is in each good response. */
  expected: string
  connections: number
  /** Requests in flight, over all connections. */
  inFlight: number
  requests: number
}

export interface Http2Responses {
  seconds: number
  /** From the first byte written to the last byte read, in the order in which the requests end. */
  latenciesMs: number[]
}

/**
 * Starts a load tool in its own process. It writes the frames of HTTP/2 by hand (RFC 9113): Node's client costs
 * more than most servers.
 */
export function startHttp2Load(): Promise<Worker<Http2Run, Http2Responses>> {
  return startWorker(import.meta.filename)
}

async function load(run: Http2Run): Promise<Http2Responses> {
  const responses: Http2Responses = { seconds: 0, latenciesMs: [] }
  const body = Buffer.from(run.body ?? '', 'base64')
  const expected = Buffer.from(run.expected, 'latin1')
  let started = 0
  const mayStart = () => started < run.requests && ++started > 0
  const respond = (response: Buffer, ms: number) => {
    if (!response.includes(expected)) throw new Error(`not the response: ${response.toString('latin1')}`)
    responses.latenciesMs.push(ms)
  }
  const startedAt = performance.now()
  const connections = Array.from({ length: run.connections }, () =>
    openConnection({ ...run, inFlight: run.inFlight / run.connections, body, mayStart, respond }),
  )
  await Promise.all(connections)
  responses.seconds = (performance.now() - startedAt) / 1000
  return responses
}

interface Lanes extends Pick<Http2Run, 'port' | 'headers' | 'inFlight'> {
  body: Buffer
  mayStart(): boolean
  /** Receives the content of each response. Throws for a bad one. */
  respond(response: Buffer, ms: number): void
}

const FRAME_HEAD_BYTES = 9
const DATA = 0
const HEADERS = 1
const RST_STREAM = 3
const SETTINGS = 4
const PING = 6
const GOAWAY = 7
const WINDOW_UPDATE = 8
/** END_STREAM of DATA and HEADERS, ACK of SETTINGS and PING. */
const END_STREAM = 1
const ACK = 1
const END_HEADERS = 4
/** Each connection and each stream begin with it (RFC 9113 6.9.2). */
const WINDOW_BYTES = 65_535
const MAX_WINDOW_BYTES = 2 ** 31 - 1
const PREFACE = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  frame(SETTINGS, 0, 0, Buffer.alloc(0)),
  frame(WINDOW_UPDATE, 0, 0, uint32(MAX_WINDOW_BYTES - WINDOW_BYTES)),
])

/** Keeps `inFlight` requests running on one connection. Resolves when no more may start and all have ended. */
function openConnection({ port, headers, body, inFlight, mayStart, respond }: Lanes): Promise<void> {
  const socket: Socket = connect({ port, host: '127.0.0.1', noDelay: true })
  const running = new Map<number, { startedAt: number; content: Buffer[] }>()
  const bodiesToSend: number[] = []
  let nextStream = 1
  let window = WINDOW_BYTES
  let received: Buffer = Buffer.alloc(0)
  const [firstBlock, nextBlock] = headerBlocks(headers)

  function start(): void {
    if (!mayStart()) return
    const stream = nextStream
    nextStream += 2
    running.set(stream, { startedAt: performance.now(), content: [] })
    const flags = END_HEADERS | (body.length === 0 ? END_STREAM : 0)
    socket.write(frame(HEADERS, flags, stream, stream === 1 ? firstBlock : nextBlock))
    if (body.length > 0) bodiesToSend.push(stream)
    sendBodies()
  }

  function sendBodies(): void {
    while (bodiesToSend.length > 0 && body.length <= window) {
      window -= body.length
      socket.write(frame(DATA, END_STREAM, bodiesToSend.shift()!, body))
    }
  }

  function end(stream: number): void {
    const { startedAt, content } = running.get(stream)!
    running.delete(stream)
    respond(Buffer.concat(content), performance.now() - startedAt)
    start()
    if (running.size === 0) socket.destroy()
  }

  function take(type: number, flags: number, stream: number, payload: Buffer): void {
    if (type === DATA) running.get(stream)!.content.push(payload)
    if ((type === DATA || type === HEADERS) && flags & END_STREAM) end(stream)
    if (type === SETTINGS && !(flags & ACK)) socket.write(frame(SETTINGS, ACK, 0, Buffer.alloc(0)))
    if (type === PING && !(flags & ACK)) socket.write(frame(PING, ACK, 0, payload))
    if (type === RST_STREAM || type === GOAWAY) throw new Error(`the server ended stream ${stream} (frame ${type})`)
    if (type !== WINDOW_UPDATE || stream !== 0) return
    window += payload.readUInt32BE(0)
    sendBodies()
  }

  function takeAll(chunk: Buffer): void {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    let at = 0
    for (; received.length - at >= FRAME_HEAD_BYTES; ) {
      const length = received.readUIntBE(at, 3)
      const until = at + FRAME_HEAD_BYTES + length
      if (received.length < until) break
      const payload = received.subarray(at + FRAME_HEAD_BYTES, until)
      take(received[at + 3]!, received[at + 4]!, received.readUInt32BE(at + 5), payload)
      at = until
    }
    received = received.subarray(at)
  }

  return new Promise((resolve, reject) => {
    const together = (action: () => void) => {
      socket.cork()
      try {
        action()
      } catch (error) {
        reject(error)
        socket.destroy()
      }
      socket.uncork()
    }
    socket.on('error', reject)
    socket.on('close', () => (running.size === 0 ? resolve() : reject(new Error('the server closed the connection'))))
    socket.on('data', (chunk: Buffer) => together(() => takeAll(chunk)))
    together(() => {
      socket.write(PREFACE)
      for (let i = 0; i < inFlight; i++) start()
    })
  })
}

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(FRAME_HEAD_BYTES)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** The entries of HPACK's static table (RFC 7541, appendix A). */
const STATIC_ENTRIES = 61

/**
 * The headers of the first request of a connection, which adds all to the table of HPACK, and of the others, where each
 * takes one byte (RFC 7541 6.2.1 and 6.1).
 */
function headerBlocks(headers: Http2Run['headers']): [first: Buffer, next: Buffer] {
  const literals = headers.flatMap(([name, value]) => [Buffer.of(0x40), hpackText(name), hpackText(value)])
  const indexes = headers.map((_, i) => 0x80 | (STATIC_ENTRIES + headers.length - i))
  return [Buffer.concat(literals), Buffer.from(indexes)]
}

function hpackText(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1')
  if (bytes.length >= 127) throw new Error(`too long for one byte of length: ${text}`)
  return Buffer.concat([Buffer.of(bytes.length), bytes])
}

if (import.meta.main) work(load)
