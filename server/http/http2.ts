import { createServer, type Http2ServerRequest, type Http2ServerResponse, type Http2Session } from 'node:http2'
import type { Socket } from 'node:net'
import { MAX_HEADER_BYTES } from './http1.ts'

const IDLE_SESSION_MS = 300_000
/** A caller that does not read never takes the GOAWAY of an idle session. */
const GOAWAY_MS = 5_000

export interface Http2 {
  sessions: ReadonlySet<Http2Session>
  /** Serves a connection. */
  take(socket: Socket): void
  /** Sends GOAWAY on every session, also on those to come. Each ends with its last answer. */
  close(): void
}

/** HTTP/2 on connections it is given. */
export function createHttp2(handle: (request: Http2ServerRequest, response: Http2ServerResponse) => void): Http2 {
  const sessions = new Set<Http2Session>()
  let closing = false
  const server = createServer({
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
    session.setTimeout(IDLE_SESSION_MS, () => {
      if (streams > 0) return
      session.close()
      setTimeout(() => session.destroy(), GOAWAY_MS).unref()
    })
    session.once('close', () => sessions.delete(session))
    if (closing) session.close()
  })
  server.on('sessionError', () => {})

  return {
    sessions,
    take(socket) {
      // Only HTTP/1.1 knows callers that end their side and still want an answer. Here the session would never close.
      socket.allowHalfOpen = false
      server.emit('connection', socket)
    },
    close() {
      closing = true
      for (const session of sessions) session.close()
    },
  }
}
