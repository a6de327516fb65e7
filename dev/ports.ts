import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'

/** Below the ports that Linux gives to connections and to `listen(0)` (ip(7), `ip_local_port_range`). */
const [FIRST_PORT, LAST_PORT] = [20_000, 32_000]

/**
 * Returns a free port of the loopback interface: `preferred` when it is free, otherwise any that no other program gets
 * by chance before it is used.
 */
export async function freePort(preferred = randomInt(FIRST_PORT, LAST_PORT)): Promise<number> {
  const server = createServer().listen(preferred, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return freePort()
  }
  await new Promise((closed) => server.close(closed))
  return preferred
}

/** A PostgreSQL server replies to this message with one octet (protocol 3.0, 53.2.10 SSL Session Encryption). */
const SSL_REQUEST = Buffer.from('00000008 04d2162f'.replaceAll(' ', ''), 'hex')

/** Whether a PostgreSQL server replies on this port of the loopback interface within a second. */
export async function isPostgres(port: number): Promise<boolean> {
  const socket = connect({ host: '127.0.0.1', port })
  socket.write(SSL_REQUEST)
  const signal = AbortSignal.timeout(1_000)
  const reply = once(socket, 'data', { signal }).then(
    () => true,
    () => false,
  )
  return reply.finally(() => socket.destroy())
}

/** Whether a program listens on this port of the loopback interface. */
export function listens(port: number): Promise<boolean> {
  const socket = connect({ host: '127.0.0.1', port })
  const connected = once(socket, 'connect').then(
    () => true,
    () => false,
  )
  return connected.finally(() => socket.destroy())
}
