import { connect, type Socket } from 'node:net'

/** What postgres.js tells of where to connect to. */
interface Target {
  host: string[]
  port: number[]
  /** Of a Unix socket. */
  path: string | false
}

const LOOKS = 12

/**
 * Sockets for postgres.js whose peer is noticed when it goes without a word: a machine that died, a network that is cut. TCP
 * would take a quarter of an hour, and every statement on the connection would wait for it. No server is silent for longer than
 * a statement may take plus a fifth; statements on a connection that is fail then, and nobody knows whether they were done.
 */
export function watchedSockets(statementMs: number): (target: Target) => Socket {
  let turn = 0
  return ({ host, port, path }) => {
    const i = turn++ % host.length
    const place = path ? { path } : { host: host[i]!, port: port[i]! }
    const socket = connect({ ...place, noDelay: true })
    closeWithError(socket)
    watch(socket, statementMs / (LOOKS - 2))
    // For the name in its certificate.
    return Object.assign(socket, place)
  }
}

/** Looks are counted, not time: a process that was paused must hear first what was said to it meanwhile. */
function watch(socket: Socket, everyMs: number): void {
  let heard = 0
  let silent = 0
  const timer = setInterval(() => {
    if (socket.destroyed) return clearInterval(timer)
    silent = socket.bytesRead > heard ? 0 : silent + 1
    heard = socket.bytesRead
    if (silent >= LOOKS) socket.destroy()
  }, everyMs).unref()
}

/**
 * Tells an error together with the close that follows it. In between, postgres.js still takes the connection for a good one, and
 * a statement that it gave to it then would never be answered.
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
