import type { Socket } from 'node:net'
import type { Client } from 'undici'
import type { Dial, DialFailure, Phases } from '../../../net/dial.ts'
import type { Destination } from '../../../net/url.ts'

/** One socket, dialled to a vetted address, and the HTTP/1.1 client that uses it. */
export interface Connection {
  client: Client
  socket: Socket
  origin: string
  createdMs: number
  /**
   * The error code of TLS with which the socket ended. With TLS 1.3 a server may refuse a client after the client's
   * handshake, before undici has the socket: undici does not report such an error.
   */
  faultCode?: string
}

export interface NewConnection {
  kind: 'connected'
  connection: Connection
  /** How long each phase of dialling took. */
  phases: Phases
}

const MAX_IDLE = 512
/** Shorter than the 5 s after which many servers close, so that they seldom close while we write. */
const IDLE_MS = 4_000
/** After this time the origin's name may lead to another address. */
const MAX_AGE_MS = 60_000
const MAX_HEAD_OCTETS = 16 * 1_024

/** Keeps connections for the next POST to the same origin. post.ts limits how many POSTs run at a time. */
export class Connections {
  readonly #dial: Dial
  /** Oldest first. Each leaves when its socket closes. */
  readonly #idle = new Set<Connection>()
  #HttpClient: typeof Client | undefined

  constructor(dial: Dial) {
    this.#dial = dial
  }

  /**
   * Loads undici. A start would take a twentieth longer with it, so POSTs wait for it, before their time limits begin.
   */
  async load(): Promise<typeof Client> {
    this.#HttpClient ??= (await import('undici')).Client
    return this.#HttpClient
  }

  /** Takes an idle connection to the origin, the newest first; undefined when there is none. */
  takeIdle(origin: string): Connection | undefined {
    const connection = [...this.#idle].findLast((idle) => idle.origin === origin)
    if (connection) this.#idle.delete(connection)
    return connection
  }

  /** Dials a new connection. `signal` ends the attempt. */
  async open(destination: Destination, signal: AbortSignal): Promise<NewConnection | DialFailure> {
    const HttpClient = await this.load()
    const dialled = await this.#dial(destination, signal)
    if (dialled.kind !== 'dialled') return dialled
    const { socket, phases } = dialled
    const { origin } = destination
    const client = clientOn(HttpClient, socket, origin)
    const connection: Connection = { client, socket, origin, createdMs: performance.now() }
    socket.once('error', ({ code }: NodeJS.ErrnoException) => {
      if (code?.startsWith('ERR_SSL_')) connection.faultCode = code
    })
    socket.once('close', () => this.#idle.delete(connection))
    return { kind: 'connected', connection, phases }
  }

  /** Makes the connection idle, or closes it when it is old. Call it after each exchange. */
  release(connection: Connection): void {
    const { socket, createdMs } = connection
    if (performance.now() - createdMs > MAX_AGE_MS) socket.destroy()
    if (socket.destroyed) return
    this.#idle.add(connection)
    for (const oldest of this.#idle) {
      if (this.#idle.size <= MAX_IDLE) break
      this.#close(oldest)
    }
  }

  /** Closes the idle connections: all that there are, when no POST runs. */
  close(): void {
    for (const connection of this.#idle) this.#close(connection)
  }

  #close(connection: Connection): void {
    this.#idle.delete(connection)
    connection.socket.destroy()
  }
}

/** By default undici dials again when a socket is gone. This client has one socket, and ends with it. */
function clientOn(HttpClient: typeof Client, socket: Socket, origin: string): Client {
  return new HttpClient(origin, {
    connect(_options, callback) {
      // undici ignores a callback that runs before `connect` has returned.
      queueMicrotask(() => {
        if (socket.destroyed) callback(new Error('the connection is gone'), null)
        else callback(null, socket)
      })
    },
    pipelining: 1,
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_MS,
    maxHeaderSize: MAX_HEAD_OCTETS,
    // `exchange` sets one deadline for the whole exchange.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
}
