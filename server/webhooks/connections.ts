import type { Socket } from 'node:net'
import { Client } from 'undici'
import type { Dial, DialFailure, Phases } from '../egress/dial.ts'
import type { Destination } from '../egress/url.ts'

/** One socket, dialled to a vetted address, and the HTTP/1.1 client that speaks on it. */
export interface Connection {
  client: Client
  socket: Socket
  origin: Origin
  bornMs: number
  /** It has answered before. */
  isUsed: boolean
}

interface Origin {
  name: string
  /** Connections that are dialled or open. */
  open: number
  idle: Connection[]
}

export interface Taken {
  kind: 'taken'
  connection: Connection
  /** Of dialling; empty when the connection was there. */
  phases: Phases
}

const IDLE_IN_ALL = 512
/** Shorter than the 5 s of many servers, so that they seldom close while we write. */
const IDLE_MS = 4_000
/** A name may lead elsewhere by then. */
const MAX_AGE_MS = 60_000
const MAX_HEAD_OCTETS = 16 * 1_024

/** Keeps connections for the next POST to the same origin. post.ts bounds how many POSTs run at a time. */
export function createConnections(dial: Dial) {
  const origins = new Map<string, Origin>()
  /** Oldest first. */
  const idle = new Set<Connection>()
  const all = new Set<Connection>()

  /** A kept connection that waits for something to do. */
  function takeIdle(name: string): Connection | undefined {
    const connection = origins.get(name)?.idle.findLast(({ socket }) => !socket.destroyed)
    if (connection) forget(connection)
    return connection
  }

  /** A new connection; in time, until `signal` aborts. */
  async function open(destination: Destination, signal: AbortSignal): Promise<Taken | DialFailure> {
    const origin = originOf(destination.origin)
    origin.open++
    const dialled = await dial(destination, signal).catch((error) => {
      leave(origin)
      throw error
    })
    const { phases } = dialled
    if (dialled.kind === 'dialled') return { kind: 'taken', connection: connected(dialled.socket, origin), phases }
    leave(origin)
    return dialled
  }

  function connected(socket: Socket, origin: Origin): Connection {
    const client = clientOn(socket, origin.name)
    const connection: Connection = { client, socket, origin, bornMs: performance.now(), isUsed: false }
    all.add(connection)
    socket.once('close', () => {
      all.delete(connection)
      forget(connection)
      leave(origin)
    })
    return connection
  }

  /** To be called after each exchange. */
  function release(connection: Connection): void {
    const { socket, origin, bornMs } = connection
    if (socket.destroyed) return
    if (performance.now() - bornMs > MAX_AGE_MS) return void socket.destroy()
    connection.isUsed = true
    origin.idle.push(connection)
    idle.add(connection)
    if (idle.size > IDLE_IN_ALL) for (const oldest of idle) return void oldest.socket.destroy()
  }

  /** When one kept connection was found closed, the others seldom are better. */
  function dropIdle(name: string): void {
    for (const { socket } of [...(origins.get(name)?.idle ?? [])]) socket.destroy()
  }

  function forget(connection: Connection): void {
    if (!idle.delete(connection)) return
    const { origin } = connection
    origin.idle.splice(origin.idle.lastIndexOf(connection), 1)
  }

  function leave(origin: Origin): void {
    if (--origin.open === 0) origins.delete(origin.name)
  }

  function originOf(name: string): Origin {
    const known = origins.get(name)
    if (known) return known
    const origin: Origin = { name, open: 0, idle: [] }
    origins.set(name, origin)
    return origin
  }

  function close(): void {
    for (const { socket } of all) socket.destroy()
  }

  return { takeIdle, open, release, dropIdle, close }
}

/** undici would dial again by itself when a socket is gone: here a client has one socket, and ends with it. */
function clientOn(socket: Socket, origin: string): Client {
  let isGiven = false
  return new Client(origin, {
    connect(_options, callback) {
      // undici misses an answer that comes before it has returned.
      queueMicrotask(() => {
        if (isGiven || socket.destroyed) return callback(new Error('the connection is gone'), null)
        isGiven = true
        callback(null, socket)
      })
    },
    allowH2: false,
    pipelining: 1,
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_MS,
    maxHeaderSize: MAX_HEAD_OCTETS,
    // One deadline of our own bounds the whole exchange.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
}
