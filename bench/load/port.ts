import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** A port of loopback that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Resolves once somebody accepts connections there. */
export async function listensOn(port: number, withinMs = 10_000): Promise<void> {
  for (const deadline = performance.now() + withinMs; ; await sleep(20)) {
    const socket = connect(port, '127.0.0.1')
    const accepted = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (accepted) return
    if (performance.now() > deadline) throw new Error(`Nobody listens on port ${port}`)
  }
}
