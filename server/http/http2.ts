import { createServer, type Http2ServerRequest, type Http2ServerResponse, type Http2Session } from 'node:http2'
import type { Socket } from 'node:net'
import { MAX_HEADER_BYTES } from './http1.ts'

const IDLE_SESSION_MS = 300_000
/** A caller that does not read never takes the GOAWAY of an idle session. */
const GOAWAY_MS = 5_000

export interface Http2 {
  /** Sessions that are open, and their connections. */
  open: ReadonlyMap<Http2Session, Socket>
  /** Serves a connection. */
  take(socket: Socket): void
  /** Closes the connection of a session that does not answer a PING in time: its caller reads nothing. */
  closeUnlessRead(session: Http2Session, withinMs: number): void
  /** Sends GOAWAY on every session, also on those to come. Each ends with its last answer. */
  close(): void
}

/** HTTP/2 on connections it is given. */
export function createHttp2(handle: (request: Http2ServerRequest, response: Http2ServerResponse) => void): Http2 {
  const sessions = new Map<Http2Session, Socket>()
  let closing = false
  let taken: Socket
  const server = createServer({
    settings: { maxConcurrentStreams: 100, maxHeaderListSize: MAX_HEADER_BYTES },
    // Against rapid reset: a connection may cancel so many requests at once, then so many a second.
    streamResetBurst: 200,
    streamResetRate: 33,
  })
  server.on('request', handle)
  server.on('checkContinue', handle)
  // Emitted while the connection is taken.
  server.on('session', (session) => {
    sessions.set(session, taken)
    let streams = 0
    session.on('stream', (stream) => {
      streams++
      stream.once('close', () => streams--)
    })
    session.setTimeout(IDLE_SESSION_MS, () => {
      if (streams > 0) return
      session.close()
      closeUnlessRead(session, GOAWAY_MS)
    })
    session.once('close', () => sessions.delete(session))
    if (closing) session.close()
  })
  server.on('sessionError', () => {})

  function take(socket: Socket): void {
    // Only HTTP/1.1 knows callers that end their side and still want an answer. Here the session would never close.
    socket.allowHalfOpen = false
    taken = socket
    server.emit('connection', socket)
  }

  function closeUnlessRead(session: Http2Session, withinMs: number): void {
    const socket = sessions.get(session)
    if (!socket || session.destroyed) return
    // A session that is destroyed waits for ever until what it has written is read.
    const timer = setTimeout(() => socket.destroy(), withinMs).unref()
    session.ping((error) => error ?? clearTimeout(timer))
  }

  function close(): void {
    closing = true
    for (const session of sessions.keys()) session.close()
  }

  return { open: sessions, take, closeUnlessRead, close }
}
