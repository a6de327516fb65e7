import { connect, type Socket } from 'node:net'

/** Where postgres.js wants to connect to. */
interface Target {
  host: string[]
  port: number[]
  /** The path of a Unix socket. */
  path: string | false
}

const LOOKS = 12

/**
 * Sockets for postgres.js that notice a peer which vanishes silently: a machine that died, a network that is cut. TCP
 * would take a quarter of an hour, and every statement on the connection would wait for it. A server can be silent for
 * as long as a statement may take plus a fifth. Then the statements on its connection fail, and whether they were
 * executed is unknown.
 */
export function watchedSockets(statementMs: number): (target: Target) => Socket {
  let turn = 0
  return ({ host, port, path }) => {
    const i = turn++ % host.length
    const place = path ? { path } : { host: host[i]!, port: port[i]! }
    const socket = connect({ ...place, noDelay: true })
    closeWithError(socket)
    watch(socket, statementMs / (LOOKS - 2))
    // postgres.js checks the server's certificate against this host.
    return Object.assign(socket, place)
  }
}

/** Counts looks, not time: a process that was paused must first read what has arrived meanwhile. */
function watch(socket: Socket, everyMs: number): void {
  let bytesRead = 0
  let silentLooks = 0
  const timer = setInterval(() => {
    if (socket.destroyed) return clearInterval(timer)
    silentLooks = socket.bytesRead > bytesRead ? 0 : silentLooks + 1
    bytesRead = socket.bytesRead
    if (silentLooks >= LOOKS) socket.destroy()
  }, everyMs).unref()
}

/**
 * Emits an error together with the close that follows it. Between the two, postgres.js would still treat the connection
 * as a good one, and a statement that it sent on it would never be answered.
 */
function closeWithError(socket: Socket): void {
  const emit: (event: string | symbol, ...args: unknown[]) => boolean = socket.emit.bind(socket)
  let error: unknown
  socket.emit = (event: string | symbol, ...args: unknown[]) => {
    if (event === 'error') error = args[0]
    if (event === 'error') return true
    if (event === 'close' && error !== undefined) emit('error', error)
    return emit(event, ...args)
  }
}
