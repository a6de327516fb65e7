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
export function createConnections(dial: Dial) {
  const origins = new Map<string, Origin>()
  /** Oldest first. */
  const idle = new Set<Connection>()
  const all = new Set<Connection>()
  let HttpClient: typeof Client | undefined

  /**
   * Loads undici. A start would take a twentieth longer with it, so POSTs wait for it, before their time limits begin.
   */
  async function load(): Promise<typeof Client> {
    HttpClient ??= (await import('undici')).Client
    return HttpClient
  }

  /** Takes an idle connection to the origin, the newest first; undefined when there is none. */
  function takeIdle(name: string): Connection | undefined {
    const connection = origins.get(name)?.idle.findLast(({ socket }) => !socket.destroyed)
    if (connection) removeIdle(connection)
    return connection
  }

  /** Dials a new connection. `signal` ends the attempt. */
  async function open(destination: Destination, signal: AbortSignal): Promise<NewConnection | DialFailure> {
    const origin = originOf(destination.origin)
    origin.connections++
    const [dialled, HttpClient] = await Promise.all([dial(destination, signal), load()]).catch((error) => {
      countDown(origin)
      throw error
    })
    const { phases } = dialled
    if (dialled.kind === 'dialled')
      return { kind: 'connected', connection: connectionOn(HttpClient, dialled.socket, origin), phases }
    countDown(origin)
    return dialled
  }

  function connectionOn(HttpClient: typeof Client, socket: Socket, origin: Origin): Connection {
    const client = clientOn(HttpClient, socket, origin.name)
    const connection: Connection = { client, socket, origin, createdMs: performance.now(), isUsed: false }
    socket.once('error', ({ code }: NodeJS.ErrnoException) => {
      if (code?.startsWith('ERR_SSL_')) connection.faultCode = code
    })
    all.add(connection)
    socket.once('close', () => {
      all.delete(connection)
      removeIdle(connection)
      countDown(origin)
    })
    return connection
  }

  /** Makes the connection idle, or closes it when it is old. Call it after each exchange. */
  function release(connection: Connection): void {
    const { socket, origin, createdMs } = connection
    if (socket.destroyed) return
    if (performance.now() - createdMs > MAX_AGE_MS) return void socket.destroy()
    connection.isUsed = true
    origin.idle.push(connection)
    idle.add(connection)
    if (idle.size > MAX_IDLE) for (const oldest of idle) return void oldest.socket.destroy()
  }

  /**
   * Closes the idle connections of an origin. When one of them turns out to be closed, the others seldom work either.
   */
  function dropIdle(name: string): void {
    for (const { socket } of [...(origins.get(name)?.idle ?? [])]) socket.destroy()
  }

  function removeIdle(connection: Connection): void {
    if (!idle.delete(connection)) return
    const { origin } = connection
    origin.idle.splice(origin.idle.lastIndexOf(connection), 1)
  }

  function countDown(origin: Origin): void {
    if (--origin.connections === 0) origins.delete(origin.name)
  }

  function originOf(name: string): Origin {
    const origin = origins.get(name) ?? { name, connections: 0, idle: [] }
    origins.set(name, origin)
    return origin
  }

  function close(): void {
    for (const { socket } of all) socket.destroy()
  }

  return { load, takeIdle, open, release, dropIdle, close }
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
