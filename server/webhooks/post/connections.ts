import type { Socket } from 'node:net'
import type { Client } from 'undici'
import type { Dial, DialFailure, Phases } from '../../../net/dial.ts'
import type { Destination } from '../../../net/url.ts'

/** One socket, dialled to a vetted address, and the HTTP/1.1 client that uses it. */
export interface Connection {
  client: Client
  socket: Socket
  origin: Origin
  createdMs: number
  /** Whether a response has already come on it. */
  isUsed: boolean
  /**
   * The error code of TLS with which the socket ended. With TLS 1.3 a server may refuse a client after the client's
   * handshake, before undici has the socket: undici does not report such an error.
   */
  faultCode?: string
}

interface Origin {
  name: string
  /** How many connections to it are open or being dialled. */
  connections: number
  idle: Connection[]
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
  readonly #origins = new Map<string, Origin>()
  /** Oldest first. */
  readonly #idle = new Set<Connection>()
  readonly #all = new Set<Connection>()
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
  takeIdle(name: string): Connection | undefined {
    const connection = this.#origins.get(name)?.idle.findLast(({ socket }) => !socket.destroyed)
    if (connection) this.#removeIdle(connection)
    return connection
  }

  /** Dials a new connection. `signal` ends the attempt. */
  async open(destination: Destination, signal: AbortSignal): Promise<NewConnection | DialFailure> {
    const { origin: name } = destination
    const origin = this.#origins.get(name) ?? { name, connections: 0, idle: [] }
    this.#origins.set(name, origin)
    origin.connections++
    const [dialled, HttpClient] = await Promise.all([this.#dial(destination, signal), this.load()]).catch((error) => {
      this.#countDown(origin)
      throw error
    })
    if (dialled.kind === 'dialled') {
      const connection = this.#connectionOn(HttpClient, dialled.socket, origin)
      return { kind: 'connected', connection, phases: dialled.phases }
    }
    this.#countDown(origin)
    return dialled
  }

  #connectionOn(HttpClient: typeof Client, socket: Socket, origin: Origin): Connection {
    const client = clientOn(HttpClient, socket, origin.name)
    const connection: Connection = { client, socket, origin, createdMs: performance.now(), isUsed: false }
    socket.once('error', ({ code }: NodeJS.ErrnoException) => {
      if (code?.startsWith('ERR_SSL_')) connection.faultCode = code
    })
    this.#all.add(connection)
    socket.once('close', () => {
      this.#all.delete(connection)
      this.#removeIdle(connection)
      this.#countDown(origin)
    })
    return connection
  }

  /** Makes the connection idle, or closes it when it is old. Call it after each exchange. */
  release(connection: Connection): void {
    const { socket, origin, createdMs } = connection
    if (socket.destroyed) return
    if (performance.now() - createdMs > MAX_AGE_MS) return void socket.destroy()
    connection.isUsed = true
    origin.idle.push(connection)
    this.#idle.add(connection)
    if (this.#idle.size > MAX_IDLE) for (const oldest of this.#idle) return void oldest.socket.destroy()
  }

  /**
   * Closes the idle connections of an origin. When one of them turns out to be closed, the others seldom work either.
   */
  dropIdle(name: string): void {
    for (const { socket } of [...(this.#origins.get(name)?.idle ?? [])]) socket.destroy()
  }

  #removeIdle(connection: Connection): void {
    if (!this.#idle.delete(connection)) return
    const { idle } = connection.origin
    idle.splice(idle.lastIndexOf(connection), 1)
  }

  #countDown(origin: Origin): void {
    if (--origin.connections === 0) this.#origins.delete(origin.name)
  }

  close(): void {
    for (const { socket } of this.#all) socket.destroy()
  }
}

/** By default undici dials again when a socket is gone. This client has one socket, and ends with it. */
function clientOn(HttpClient: typeof Client, socket: Socket, origin: string): Client {
  let isSocketUsed = false
  return new HttpClient(origin, {
    connect(_options, callback) {
      // undici ignores a callback that runs before `connect` has returned.
      queueMicrotask(() => {
        if (isSocketUsed || socket.destroyed) return callback(new Error('the connection is gone'), null)
        isSocketUsed = true
        callback(null, socket)
      })
    },
    allowH2: false,
    pipelining: 1,
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_MS,
    maxHeaderSize: MAX_HEAD_OCTETS,
    // `exchange` sets one deadline for the whole exchange.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
}
