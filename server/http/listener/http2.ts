import { subscribe } from 'node:diagnostics_channel'
import {
  constants,
  createServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type Http2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { Socket } from 'node:net'
import { MAX_PARSED_HEADER_BYTES } from './header-fault.ts'
import { createPieceLimit, TOO_MANY_SMALL_PIECES } from './pieces.ts'

/** Each counts as at least 32 bytes of the headers' size (RFC 9113 6.5.2), so no request within it has more. */
const MAX_HEADER_PAIRS = MAX_PARSED_HEADER_BYTES / 32
const IDLE_SESSION_MS = 300_000
/** How long a caller has to read a GOAWAY that ends its connection. */
const GOAWAY_MS = 5_000
/** When an idle session has had no request for this long, its caller has none on the way. */
const QUIET_MS = 500
const PING_EVERY_MS = 50
/** How long GOAWAY waits for a caller that answers no PING. */
const ANSWER_MS = 5_000

const onNewStream = new WeakMap<Http2Session, (stream: ServerHttp2Stream) => void>()
// A session emits `stream` too late: frames that follow in the first bytes of a connection are read before it.
subscribe('http2.server.stream.created', (message) => {
  const { stream } = message as { stream: ServerHttp2Stream }
  if (stream.session) onNewStream.get(stream.session)?.(stream)
})

interface OpenSession {
  socket: Socket
  streams: ReadonlySet<ServerHttp2Stream>
  /** Its last PING has no answer yet. */
  isPinged: boolean
}

/** Serves HTTP/2 on the connections that it receives. */
export class Http2 {
  /** Open sessions. */
  readonly open = new Map<Http2Session, OpenSession>()
  readonly #server = createServer({
    settings: { maxConcurrentStreams: 100, maxHeaderListSize: MAX_PARSED_HEADER_BYTES },
    maxHeaderListPairs: MAX_HEADER_PAIRS,
    // Against rapid reset: how many requests a connection may cancel at once, and then each second.
    streamResetBurst: 200,
    streamResetRate: 33,
  })
  #isClosing = false

  constructor(handle: (request: Http2ServerRequest, response: Http2ServerResponse) => void) {
    for (const event of ['request', 'checkContinue', 'checkExpectation']) this.#server.on(event, handle)
    this.#server.on('sessionError', () => {})
  }

  /** Serves a connection. */
  take(socket: Socket): void {
    // Only on HTTP/1.1 may a caller end its side and wait for a response. Here the session would never close.
    socket.allowHalfOpen = false
    const onSession = (session: Http2Session) => this.#watch(session, socket)
    // Emitted within `connection`, but not for a protocol that TLS has not agreed on.
    this.#server.on('session', onSession)
    this.#server.emit('connection', socket)
    this.#server.off('session', onSession)
  }

  #watch(session: Http2Session, socket: Socket): void {
    const streams = new Set<ServerHttp2Stream>()
    this.open.set(session, { socket, streams, isPinged: false })
    const watchPieces = createPieceLimit(() => calm(session, socket, streams))
    onNewStream.set(session, (stream) => {
      watchPieces(stream)
      streams.add(stream)
      stream.once('close', () => streams.delete(stream))
    })
    session.setTimeout(IDLE_SESSION_MS, () => {
      if (streams.size > 0) return
      session.close()
      this.closeUnlessRead(session, GOAWAY_MS)
    })
    session.once('close', () => this.open.delete(session))
    if (this.#isClosing) leave(session, streams)
  }

  /** Closes a session's connection when a PING gets no answer in time: its caller reads nothing. */
  closeUnlessRead(session: Http2Session, withinMs: number): void {
    const open = this.open.get(session)
    // Node fails the eleventh PING without an answer.
    if (!open || session.destroyed || open.isPinged) return
    open.isPinged = true
    // A destroyed session waits until its output is read, which may be never.
    const timer = setTimeout(() => open.socket.destroy(), withinMs).unref()
    session.ping((error) => {
      if (error) return
      clearTimeout(timer)
      open.isPinged = false
    })
  }

  /**
   * Sends GOAWAY on every session, also on future ones: when its caller has answered a PING, and on an idle one after
   * half a second. Each ends with its last response.
   */
  close(): void {
    this.#isClosing = true
    for (const [session, { streams }] of this.open) leave(session, streams)
  }
}

/** Ends a session whose caller costs too much. What still arrives on closed streams costs next to nothing. */
function calm(session: Http2Session, socket: Socket, streams: ReadonlySet<ServerHttp2Stream>): void {
  session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM, undefined, Buffer.from(TOO_MANY_SMALL_PIECES))
  for (const stream of streams) {
    stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)
    stream.destroy()
  }
  setTimeout(() => socket.destroy(), GOAWAY_MS).unref()
}

/**
 * Sends GOAWAY when it loses no request. nginx uses a kept connection for one request at a time, and fails a request
 * that crosses a GOAWAY. It reads one that precedes the end of a response, and then keeps the connection no longer. It
 * closes an idle connection on which anything arrives, so that one gets PINGs first.
 *
 * After GOAWAY the connection ends with its last response. nginx fails a response that it reads together with that end,
 * unless it has answered every PING and SETTINGS before. So GOAWAY waits for the answers.
 */
function leave(session: Http2Session, streams: ReadonlySet<ServerHttp2Stream>): void {
  let isAnswered = true
  let lastRequestMs = performance.now()
  const ping = () => {
    // After GOAWAY a PING would be one more to answer before the end.
    if (!isAnswered || session.closed) return
    isAnswered = false
    session.ping(onAnswer)
  }
  // The requests that were sent before the answer have been read.
  const onAnswer = () => {
    isAnswered = true
    const isResponding = Array.from(streams).some((stream) => !stream.writableEnded)
    if (isResponding || performance.now() - lastRequestMs > QUIET_MS) session.close()
  }
  const pings = setInterval(ping, PING_EVERY_MS)
  const giveUp = setTimeout(() => session.close(), ANSWER_MS)
  session.once('close', () => {
    clearInterval(pings)
    clearTimeout(giveUp)
  })
  ping()
  session.on('stream', () => {
    lastRequestMs = performance.now()
    if (isAnswered) session.close()
  })
}
