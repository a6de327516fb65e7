import { once } from 'node:events'
import { connect, createServer } from 'node:net'

/** Returns a free port of the loopback interface: `preferred` when it is free, otherwise any. */
export async function freePort(preferred = 0): Promise<number> {
  const server = createServer().listen(preferred, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return freePort()
  }
  const { port } = server.address() as { port: number }
  await new Promise((closed) => server.close(closed))
  return port
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
