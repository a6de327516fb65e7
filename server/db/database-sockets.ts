import { connect, type Socket } from 'node:net'

/** Where a server listens. */
export type ServerPlace = { host: string; port: number } | { path: string }

const LOOKS = 12

/** Opens a socket for postgres.js, which checks the server's certificate against the socket's `host`. */
export function dialDatabase(place: ServerPlace): Socket {
  const socket = connect({ ...place, noDelay: true })
  closeWithError(socket)
  return Object.assign(socket, place)
}

/**
 * Notices a server that vanishes silently: a machine that died, a network that is cut. TCP would take a quarter of an
 * hour, and every statement on the connection would wait for it. A server can be silent for as long as a statement may
 * take plus a fifth. Then the statements on its connection fail, and whether they were executed is unknown. `suspect`
 * is called when a statement has had no answer from one look to the next, a tenth of that time, and again while that
 * lasts.
 *
 * Counts looks, not time: a process that was paused must first read what has arrived meanwhile. A connection that is
 * being opened has its own time limit, the driver's.
 */
export function watch(socket: Socket, statementMs: number, suspect: () => void): void {
  let bytesRead = 0
  let bytesWritten = 0
  let bytesAnswered = 0
  let silentLooks = 0
  const look = () => {
    if (socket.destroyed) return clearInterval(timer)
    if (socket.bytesRead > bytesRead) {
      silentLooks = 0
      bytesAnswered = socket.bytesWritten
    } else if (bytesWritten === bytesAnswered && socket.bytesWritten > bytesWritten && !socket.writableEnded) {
      // The first statement after an idle time has all of its own. Later ones do not prolong it.
      silentLooks = 0
    } else silentLooks++
    bytesRead = socket.bytesRead
    bytesWritten = socket.bytesWritten
    if (silentLooks >= LOOKS && bytesRead > 0) socket.destroy()
    else if (silentLooks > 0 && bytesWritten > bytesAnswered) suspect()
  }
  const timer = setInterval(look, statementMs / (LOOKS - 2)).unref()
}

/**
 * Emits an error together with the close that follows it. Between the two, postgres.js would still treat the connection
 * as a good one, and a statement that it sent on it would never be answered.
 */
function closeWithError(socket: Socket): void {
  const emit: (event: string | symbol, ...args: unknown[]) => boolean = socket.emit.bind(socket)
  let error: unknown
  function emitTogether(event: string | symbol, ...args: unknown[]): boolean {
    if (event === 'error') error = args[0]
    if (event === 'error') return true
    if (event === 'close' && error !== undefined) emit('error', error)
    return emit(event, ...args)
  }
  socket.emit = emitTogether
}
