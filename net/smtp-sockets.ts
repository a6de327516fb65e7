import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import type { SMTPServer } from 'smtp-server'
import { smtpConnectionOf } from './smtp-commands.ts'

// A socket is a guest of its mail server from its acceptance on, and not only when smtp-server begins a session. The
// method that is replaced here is not documented: test/net/smtp-sockets.test.ts finds a version without it.

export interface Guest {
  /** Also the id of its session. */
  id: string
  remoteAddress: string
}

export interface SmtpDoor {
  /** The most guests. */
  connections: number
  /**
   * Returns the reply that refuses the guest, or undefined. Then `sendAway` closes its connection, with the reply
   * unless a handshake is running.
   */
  enter(guest: Guest, sendAway: (reply: string) => void): string | undefined
  /** May be called more than once for a guest. */
  leave(guest: Guest): void
  /** The time for the handshake. Without it, TLS does not begin with the connection. */
  handshakeMs?: number
}

/** A client that is sent away is gone by then, also when it does not close its side. */
const GONE_WITHIN_MS = 200

/** Sockets that are on their way out live for a moment. Beyond this multiple of the limit, new ones are dropped. */
const DROPPED_FROM = 4

/** Lets each socket enter when it is accepted, before the handshake of TLS. One that is refused is gone at once. */
export function keepDoor(server: SMTPServer, door: SmtpDoor): void {
  server.server.maxConnections = DROPPED_FROM * door.connections
  const begin = server._handleProxy
  const entered: SMTPServer['_handleProxy'] = (socket, next) => {
    const guest = { id: randomUUID(), remoteAddress: socket.remoteAddress ?? '' }
    socket.on('error', () => {})
    const refusal = door.enter(guest, (reply) => sendAway(server, { id: guest.id, socket, reply }))
    if (refusal) {
      // In the middle of a handshake no reply can be read.
      if (!server.options.secure) socket.end(`421 ${refusal}\r\n`)
      socket.destroySoon()
      return next(new Error(refusal))
    }
    socket.once('close', () => door.leave(guest))
    if (door.handshakeMs !== undefined) {
      const timer = setTimeout(() => endHandshake(server, socket), door.handshakeMs).unref()
      socket.once('close', () => clearTimeout(timer))
    }
    begin.call(server, socket, (error, options) => {
      const isGone = socket.destroyed ? new Error('The connection has ended') : null
      next(error ?? isGone, options && { ...options, id: guest.id })
    })
  }
  server._handleProxy = entered
  // STARTTLS removes all listeners of the socket that was accepted.
  const left: SMTPServer['onClose'] = (session) => door.leave(session)
  server.onClose = left
}

/** Does nothing when the handshake is over. A socket must not be destroyed below the one of TLS. */
function endHandshake({ _pendingSockets }: SMTPServer, socket: Socket): void {
  _pendingSockets.get(socket)?.destroy()
}

interface Sent {
  id: string
  socket: Socket
  reply: string
}

function sendAway(server: SMTPServer, { id, socket, reply }: Sent): void {
  const connection = smtpConnectionOf(server, { id })
  if (!connection) return void (server._pendingSockets.get(socket) ?? socket).destroy()
  connection.send(421, reply)
  setTimeout(() => connection._socket.destroy(), GONE_WITHIN_MS).unref()
}
