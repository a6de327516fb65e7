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

/** Whether something listens on this port of the loopback interface. */
export function listens(port: number): Promise<boolean> {
  const socket = connect({ host: '127.0.0.1', port })
  const answer = once(socket, 'connect').then(
    () => true,
    () => false,
  )
  return answer.finally(() => socket.destroy())
}
