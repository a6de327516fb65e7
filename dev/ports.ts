import { once } from 'node:events'
import { connect, createServer } from 'node:net'

/** The port of the loopback interface that is wanted, or any when that is taken. */
export async function freePort(wanted = 0): Promise<number> {
  const server = createServer().listen(wanted, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return freePort()
  }
  const { port } = server.address() as { port: number }
  await new Promise((closed) => server.close(closed))
  return port
}

/** What a PostgreSQL answers by one octet (protocol 3.0, 53.2.10 SSL Session Encryption). */
const SSL_REQUEST = Buffer.from('00000008 04d2162f'.replaceAll(' ', ''), 'hex')

/** Whether a PostgreSQL answers on this port of the loopback interface, within a second. */
export async function isPostgres(port: number): Promise<boolean> {
  const socket = connect({ host: '127.0.0.1', port })
  socket.write(SSL_REQUEST)
  const signal = AbortSignal.timeout(1_000)
  const answer = once(socket, 'data', { signal }).then(
    () => true,
    () => false,
  )
  return answer.finally(() => socket.destroy())
}

/** Whether something listens on this port of the loopback interface. */
export function listens(port: number): Promise<boolean> {
  const socket = connect({ host: '127.0.0.1', port })
  const answer = once(socket, 'connect').then(
    () => true,
    () => false,
  )
  return answer.finally(() => socket.destroy())
}
