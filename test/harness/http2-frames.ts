import { once } from 'node:events'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'

// HTTP/2 frame by frame (RFC 9113): Node's client joins what is written within a turn.

export const DATA = 0
export const HEADERS = 1
export const RST_STREAM = 3
export const SETTINGS = 4
export const PING = 6
export const GOAWAY = 7
export const WINDOW_UPDATE = 8
export const END_STREAM = 1
export const END_HEADERS = 4
export const ENHANCE_YOUR_CALM = 11

const HEAD_BYTES = 9

export function frame(type: number, flags: number, stream: number, payload: Buffer | string = ''): Buffer {
  const bytes = Buffer.from(payload)
  const head = Buffer.alloc(HEAD_BYTES)
  head.writeUIntBE(bytes.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, bytes])
}

/** A HEADERS frame that opens a stream, without Huffman codes and tables (RFC 7541 6.2.2). */
export function openStream(stream: number, headers: Record<string, string>): Buffer {
  const fields = Object.entries({ ':method': 'POST', ':scheme': 'http', ':authority': 'x', ...headers })
  const isPseudo = ([name]: [string, string]) => name.startsWith(':')
  // A pseudo-header after any other header makes the request malformed.
  const ordered = [...fields.filter(isPseudo), ...fields.filter((field) => !isPseudo(field))]
  const block = ordered.flatMap(([name, value]) => [Buffer.of(0), literal(name), literal(value)])
  return frame(HEADERS, END_HEADERS, stream, Buffer.concat(block))
}

/** Text of up to 126 bytes. */
const literal = (text: string) => Buffer.concat([Buffer.of(text.length), Buffer.from(text)])

const PREFACE = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(SETTINGS, 0, 0)])

export interface FrameConnection {
  write(bytes: Buffer): boolean
  /** Resolves with the error code and the text of the first GOAWAY, or with undefined when there is none at the end. */
  goaway: Promise<{ code: number; text: string } | undefined>
  /** How many streams got a frame with END_STREAM. */
  ended(): number
  /** Resolves when the connection is closed, or reset. */
  closed: Promise<void>
  socket: Duplex
}

/** Begins HTTP/2 on a connection; by default a new one, without TLS. */
export async function openFrames(port: number, on?: Duplex): Promise<FrameConnection> {
  const socket = on ?? connect(port, '127.0.0.1')
  socket.on('error', () => {})
  if (!on) await once(socket, 'connect')
  const gone = Promise.withResolvers<{ code: number; text: string } | undefined>()
  let ended = 0
  let rest: Buffer = Buffer.alloc(0)
  socket.on('data', (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes])
    while (rest.length >= HEAD_BYTES && rest.length >= HEAD_BYTES + rest.readUIntBE(0, 3)) {
      const end = HEAD_BYTES + rest.readUIntBE(0, 3)
      const [type, flags] = [rest[3]!, rest[4]!]
      if (type === GOAWAY) gone.resolve({ code: rest.readUInt32BE(13), text: rest.subarray(17, end).toString() })
      if (type <= HEADERS && (flags & END_STREAM) !== 0) ended++
      rest = rest.subarray(end)
    }
  })
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  closed.then(() => gone.resolve(undefined))
  socket.write(PREFACE)
  return { write: (bytes) => socket.write(bytes), goaway: gone.promise, ended: () => ended, closed, socket }
}

export const repeated = (bytes: Buffer, count: number) => Buffer.concat(Array<Buffer>(count).fill(bytes))
